//===- MemorySearch.h - what a plan leaves open, within its memory
//-*-C++-*-===//
//
// Private to the room: settles on the exact arena of compiled copies when state
// that rests sharded is gathered and reduced, what `recompute: auto` keeps and
// which saved values are gathered again, so that a step takes the least time.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_MEMORYSEARCH_H
#define STRETTO_LIB_DRIVER_MEMORYSEARCH_H

#include "StepCost.h"

namespace stretto::driver {

/// Writes the choices into the module after Apply. Where nothing is within
/// `limit`, what takes the least memory is chosen: the caller sees what it is.
mlir::LogicalResult settleMemory(mlir::ModuleOp applied, uint64_t limit,
                                 StepCostOf costOf);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_MEMORYSEARCH_H
