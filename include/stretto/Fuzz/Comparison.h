//===- Comparison.h - sharded against whole ---------------------*- C++ -*-===//
//
// Runs a graph as it is written on one rank, and after propagate, assign,
// plan-reshards and localize on the virtual ranks of its mesh, both in f64, and
// compares every result.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_FUZZ_COMPARISON_H
#define STRETTO_FUZZ_COMPARISON_H

#include "stretto/Fuzz/Graph.h"
#include "stretto/Interpreter/PlantBug.h"

namespace stretto::fuzz {

enum class Verdict {
  Equal,
  Refused,  ///< a pass or the verifier gave a diagnostic
  Different ///< values, replicas or padding are wrong
};

struct Outcome {
  Verdict verdict = Verdict::Equal;
  std::string text; ///< diagnostics, or which element differs and by how much
};

/// The graph as a program: its segment (or two, see splitAttr), and a step that
/// calls it. `graph` itself is not changed.
mlir::OwningOpRef<mlir::ModuleOp> makeProgram(mlir::ModuleOp graph);

/// Propagates, assigns, plans and localizes a program in place.
mlir::LogicalResult shard(mlir::ModuleOp program);

/// Compares on values drawn from `seed`: small whole and half numbers, so that
/// sums and products of few of them are exact in any order. With `bug`, that
/// mistake is first made at one place of the sharded program; a program without
/// a place for it counts as different.
Outcome compareRanks(mlir::ModuleOp graph, uint64_t seed,
                     std::optional<interp::Bug> bug = std::nullopt);

} // namespace stretto::fuzz

#endif // STRETTO_FUZZ_COMPARISON_H
