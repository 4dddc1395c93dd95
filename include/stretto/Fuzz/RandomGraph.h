//===- RandomGraph.h - random sharded graphs --------------------*- C++ -*-===//
//
// A graph, a mesh and constraints as functions of a seed: meshes of one to
// three axes of size 1 to 6, extents that rarely divide, every operation of the
// dialect that a forward segment may hold.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_FUZZ_RANDOMGRAPH_H
#define STRETTO_FUZZ_RANDOMGRAPH_H

#include "stretto/Fuzz/Graph.h"

namespace stretto::fuzz {

/// The same seed gives the same graph (see Graph.h).
mlir::OwningOpRef<mlir::ModuleOp> makeRandomGraph(mlir::MLIRContext &context,
                                                  uint64_t seed);

} // namespace stretto::fuzz

#endif // STRETTO_FUZZ_RANDOMGRAPH_H
