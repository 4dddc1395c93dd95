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
  bool harmless = false; ///< a planted bug that changes no value on any rank
};

/// The graph as a program: its segment (or two, see splitAttr), and a step that
/// calls it. `graph` itself is not changed.
mlir::OwningOpRef<mlir::ModuleOp> makeProgram(mlir::ModuleOp graph);

/// Propagates, assigns, plans and localizes a program in place.
mlir::LogicalResult shard(mlir::ModuleOp program);

/// Compares on values drawn from `seed`: small whole and half numbers, so that
/// sums and products of few of them are exact in any order. With `bug`, that
/// mistake is first made at one place of the sharded program; a program without
/// a place for it counts as different. A dropped all-reduce that is not noticed
/// is looked at: harmless when nobody who reads it makes anything else of it.
Outcome compareRanks(mlir::ModuleOp graph, uint64_t seed,
                     std::optional<interp::Bug> bug = std::nullopt);

} // namespace stretto::fuzz

#endif // STRETTO_FUZZ_COMPARISON_H
