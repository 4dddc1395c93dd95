//===- ReshardSearch.h - the cheapest way to lie differently ----*- C++ -*-===//
//
// Resharding as a shortest path: states are distributions, edges are slices and
// collectives, lengths are seconds by the links of the mesh. Answers are kept
// for the whole compile.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_RESHARDSEARCH_H
#define STRETTO_TRANSFORMS_SHARD_RESHARDSEARCH_H

#include "stretto/Transforms/Shard/ReshardState.h"
#include <map>

namespace stretto {

struct ReshardOptions {
  /// No state of a path is larger on a rank than this many times the larger of
  /// source and target, unless there is no other way.
  double memoryFactor = 2;
  /// States looked at before the search settles for what it has.
  unsigned maxStates = 3000;
};

struct ReshardHop {
  ReshardStep step;
  ReshardState after;
};

struct ReshardPath {
  std::vector<ReshardHop> hops;
  double bytes = 0; ///< that a rank sends, on average
  double seconds = 0;
  double peakBytes = 0; ///< of the largest state on a rank
  double limitBytes = 0;
  unsigned states = 0;   ///< looked at by the search
  bool isOptimal = true; ///< false: the search was cut short

  bool isWithinLimit() const { return peakBytes <= limitBytes; }
};

/// Steps worth taking from `state`, each with what it leads to.
void forEachStep(const ReshardProblem &problem, const ReshardState &state,
                 llvm::function_ref<void(ReshardHop)> visit);

class ReshardPlanner {
public:
  explicit ReshardPlanner(Links links, ReshardOptions options = {})
      : links(std::move(links)), options(options) {}

  /// The mesh and the shape are the same on both sides.
  const ReshardPath &plan(DistAttr from, DistAttr to,
                          llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

private:
  using Key = std::tuple<const void *, const void *, std::vector<int64_t>>;

  Links links;
  ReshardOptions options;
  std::map<Key, ReshardPath> known;
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_SHARD_RESHARDSEARCH_H
