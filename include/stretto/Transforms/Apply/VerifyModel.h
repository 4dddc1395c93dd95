//===- VerifyModel.h - the model contract -----------------------*- C++ -*-===//
//
// What a model must keep to (docs/model-contract.md), checked as far as the
// module is already bound: before the recipe, after it, and after the plan.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_VERIFYMODEL_H
#define STRETTO_TRANSFORMS_APPLY_VERIFYMODEL_H

#include "stretto/Transforms/Apply/ModelGraph.h"

namespace stretto {

/// Checks the whole contract.
mlir::LogicalResult verifyModel(mlir::ModuleOp module);

/// Samples may meet only in sums that end in loss terms. Nothing is checked
/// while neither the recipe (micro-batches) nor the plan (axes on `batch`)
/// splits the batch.
mlir::LogicalResult verifyNoCoupling(mlir::ModuleOp module,
                                     const ModelGraph &graph);

/// Positions along a bound dimension must be rows of the tables they index.
mlir::LogicalResult verifyPositions(mlir::ModuleOp module);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_VERIFYMODEL_H
