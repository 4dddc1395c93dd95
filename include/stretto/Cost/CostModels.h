//===- CostModels.h - the work of every operation ---------------*- C++ -*-===//
//
// Attaches the interface CostModel to the operations of the dialect. Costs are
// pure functions of shapes and attributes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_COST_COSTMODELS_H
#define STRETTO_COST_COSTMODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace stretto {

void registerCostModels(mlir::DialectRegistry &registry);

} // namespace stretto

#endif // STRETTO_COST_COSTMODELS_H
