//===- RecomputeSearch.h - recompute as much as memory demands --*- C++ -*-===//
//
// Private to the room: decides what instances under `recompute: auto` keep, so
// that a rank's arena meets the plan's memory limit at the fewest FLOPs.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_RECOMPUTESEARCH_H
#define STRETTO_LIB_DRIVER_RECOMPUTESEARCH_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stretto::driver {

/// The arena in bytes of the Program that a module after Apply becomes.
using ArenaOf =
    llvm::function_ref<mlir::FailureOr<uint64_t>(mlir::ModuleOp applied)>;

/// Sets `stretto.keep_bytes` on every call whose policy is `auto`. Instances
/// give up values in the order of FLOPs per byte, one instance at a time; the
/// fewest steps whose arena is within `limit` are taken, found on the exact
/// arena: price by price, then by bisection among the instances of one price.
/// Where no price suffices the one with the least arena is taken: the caller
/// sees what it is.
mlir::LogicalResult settleRecompute(mlir::ModuleOp applied, uint64_t limit,
                                    ArenaOf arenaOf);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_RECOMPUTESEARCH_H
