//===- MemorySearch.cpp - what a plan leaves open, within its memory ------===//

#include "MemorySearch.h"
#include "RecomputeSearch.h"
#include "RestingSearch.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {
/// A way to gather and reduce, when nothing is repeated that need not be.
struct Start {
  unsigned combination;
  StepCost cost;
};
} // namespace

/// In the order of their time: what more is repeated only adds to it.
static FailureOr<std::vector<Start>> startsOf(ModuleOp applied,
                                              const OpenResting &resting,
                                              RecomputeSearch &recompute,
                                              StepCostOf costOf) {
  std::vector<Start> starts;
  recompute.take({});
  for (unsigned i = 0; i < resting.numCombinations(); ++i) {
    resting.take(i);
    FailureOr<StepCost> cost = costOf(applied);
    if (failed(cost))
      return failure();
    starts.push_back({i, *cost});
  }
  llvm::stable_sort(starts, [](const Start &a, const Start &b) {
    return a.cost.isBelow(b.cost, /*limit=*/UINT64_MAX);
  });
  return starts;
}

LogicalResult driver::settleMemory(ModuleOp applied, uint64_t limit,
                                   StepCostOf costOf) {
  OpenResting resting(applied);
  FailureOr<RecomputeSearch> recompute = RecomputeSearch::of(applied);
  if (failed(recompute))
    return failure();
  auto starts = startsOf(applied, resting, *recompute, costOf);
  if (failed(starts)) {
    resting.reset();
    return failure();
  }
  std::optional<std::pair<RecomputeSearch::Choice, StepCost>> best;
  unsigned bestCombination = 0;
  for (const Start &start : *starts) {
    if (best && best->second.arenaBytes <= limit &&
        best->second.seconds <= start.cost.seconds)
      break;
    resting.take(start.combination);
    auto found = recompute->run(limit, start.cost, costOf);
    if (failed(found))
      return failure();
    if (!best || found->second.isBelow(best->second, limit)) {
      best = *found;
      bestCombination = start.combination;
    }
  }
  resting.take(bestCombination);
  recompute->take(best->first);
  return success();
}
