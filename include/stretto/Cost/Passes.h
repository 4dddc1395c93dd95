//===- Passes.h - cost ------------------------------------------*- C++ -*-===//
//
// Constructors and registration of the passes of the room Cost.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_COST_PASSES_H
#define STRETTO_COST_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace stretto {

#define GEN_PASS_DECL
#include "stretto/Cost/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Cost/Passes.h.inc"

} // namespace stretto

#endif // STRETTO_COST_PASSES_H
