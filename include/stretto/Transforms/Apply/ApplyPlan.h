//===- ApplyPlan.h - the plan on a module -----------------------*- C++ -*-===//
//
// The plan as IR: the mesh on the module, and on every layer the constraints
// that its shard rules put on activations, parameters and results.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_APPLYPLAN_H
#define STRETTO_TRANSFORMS_APPLY_APPLYPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "stretto/Plan/Plan.h"

namespace stretto {

/// Inputs and parameters of the model with their logical dimensions, as the
/// plan speaks of them.
std::vector<NamedTensor> namedTensors(mlir::ModuleOp module);

/// Checks the plan's names against the model, sets `stretto.mesh`, and gives
/// each layer its constraints; instances that the rules treat differently get
/// layers of their own. What is wrong with the plan goes to `diagnostics`.
mlir::LogicalResult applyPlan(mlir::ModuleOp module, const Plan &plan,
                              Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_APPLYPLAN_H
