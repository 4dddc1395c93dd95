//===- RestingSearch.h - gather and reduce as memory allows -----*- C++ -*-===//
//
// Private to the room: decides when parameters that rest sharded are gathered
// and gradients reduced where the plan left that open ("auto") and limits the
// memory of a rank: the fewest bytes sent whose arena is within the limit.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_RESTINGSEARCH_H
#define STRETTO_LIB_DRIVER_RESTINGSEARCH_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stretto::driver {

/// What a rank holds, and what it sends for parameters and gradients in a step.
struct RestingCost {
  uint64_t arenaBytes = 0, sentBytes = 0;
};
using RestingCostOf =
    llvm::function_ref<mlir::FailureOr<RestingCost>(mlir::ModuleOp applied)>;

/// Replaces "auto" in the `stretto.rest` of every layer. All combinations are
/// tried on the exact arena; where none is within `limit`, the one with the
/// least arena is taken: the caller sees what it is. Does nothing when nothing
/// is left open.
mlir::LogicalResult settleResting(mlir::ModuleOp applied, uint64_t limit,
                                  RestingCostOf costOf);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_RESTINGSEARCH_H
