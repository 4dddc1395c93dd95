//===- Shrink.h - the smallest graph that still fails -----------*- C++ -*-===//
//
// Greedy reduction of a graph: fewer results, operations, axes, constraints and
// elements, as long as it keeps failing.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_FUZZ_SHRINK_H
#define STRETTO_FUZZ_SHRINK_H

#include "stretto/Fuzz/Graph.h"

namespace stretto::fuzz {

/// Tries smaller copies of `graph` until `stillFails` accepts none of them (or
/// has been asked `budget` times) and returns the smallest accepted one.
mlir::OwningOpRef<mlir::ModuleOp>
shrink(mlir::ModuleOp graph,
       llvm::function_ref<bool(mlir::ModuleOp)> stillFails, int budget = 2000);

} // namespace stretto::fuzz

#endif // STRETTO_FUZZ_SHRINK_H
