//===- Passes.h - recipe and plan into the IR -------------------*- C++ -*-===//
//
// Constructors and registration of the passes of the room Apply.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_PASSES_H
#define STRETTO_TRANSFORMS_APPLY_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace stretto {

#define GEN_PASS_DECL
#include "stretto/Transforms/Apply/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Transforms/Apply/Passes.h.inc"

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_PASSES_H
