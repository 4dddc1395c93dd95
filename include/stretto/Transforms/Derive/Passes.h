//===- Passes.h - from a model to a training step ---------------*- C++ -*-===//
//
// Constructors and registration of the passes of the room Derive.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_DERIVE_PASSES_H
#define STRETTO_TRANSFORMS_DERIVE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace stretto {

#define GEN_PASS_DECL
#include "stretto/Transforms/Derive/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Transforms/Derive/Passes.h.inc"

} // namespace stretto

#endif // STRETTO_TRANSFORMS_DERIVE_PASSES_H
