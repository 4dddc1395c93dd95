//===- RecomputeSearch.cpp - repeat as much as memory demands -------------===//

#include "RecomputeSearch.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

static std::vector<CallOp> callsOf(ModuleOp applied) {
  std::vector<CallOp> calls;
  for (ModelOp model : applied.getOps<ModelOp>())
    llvm::append_range(calls, model.getOps<CallOp>());
  return calls;
}

FailureOr<RecomputeSearch> RecomputeSearch::of(ModuleOp applied) {
  RecomputeSearch search(applied);
  FailureOr<std::vector<InstanceFrontier>> frontiers =
      recomputeFrontiers(applied);
  if (failed(frontiers))
    return failure();
  search.frontiers = std::move(*frontiers);
  search.orderMoves();
  return search;
}

/// The instances of these layers whose policy leaves it open. What the last one
/// saves is used at once.
void RecomputeSearch::findGathering(const std::set<std::string> &layers) {
  gathering.clear();
  std::vector<CallOp> calls = callsOf(applied);
  for (CallOp call : ArrayRef(calls).drop_back()) {
    auto policy = RecomputePolicy::of(call);
    if (succeeded(policy) && !policy->repeatsGathers() &&
        layers.count(call.getCallee().str()))
      gathering.push_back(call);
  }
}

/// Along a frontier bytes get dearer, so the moves of one instance stay in
/// order; later instances, which keep their values the shortest, come last.
void RecomputeSearch::orderMoves() {
  for (auto [instance, frontier] : llvm::enumerate(frontiers))
    for (size_t point = 1; point < frontier.points.size(); ++point) {
      const KeepPoint &from = frontier.points[point - 1],
                      &to = frontier.points[point];
      moves.push_back({unsigned(instance), unsigned(point),
                       (to.flops - from.flops) / (from.bytes - to.bytes)});
    }
  llvm::stable_sort(moves, [](const Move &a, const Move &b) {
    return a.flopsPerByte < b.flopsPerByte;
  });
}

void RecomputeSearch::take(Choice choice) {
  llvm::StringMap<double> bytes;
  for (const InstanceFrontier &frontier : frontiers)
    bytes[frontier.scope] = frontier.points.front().bytes;
  for (const Move &move : ArrayRef(moves).take_front(choice.numMoves))
    bytes[frontiers[move.instance].scope] =
        frontiers[move.instance].points[move.point].bytes;
  Builder builder(applied.getContext());
  for (CallOp call : callsOf(applied))
    if (auto it = bytes.find(call.getScope()); it != bytes.end())
      call->setAttr(attr::keepBytes,
                    builder.getI64IntegerAttr(int64_t(it->second)));
  for (auto [index, call] : llvm::enumerate(gathering))
    if (index < choice.numGathers)
      call->setAttr(attr::repeatGathers, builder.getUnitAttr());
    else
      call->removeAttr(attr::repeatGathers);
}

/// 0, then the number of moves after each price.
SmallVector<size_t> RecomputeSearch::pricePoints() const {
  SmallVector<size_t> points = {0};
  for (size_t i = 0; i < moves.size(); ++i)
    if (i + 1 == moves.size() ||
        moves[i + 1].flopsPerByte > moves[i].flopsPerByte)
      points.push_back(i + 1);
  return points;
}

bool RecomputeSearch::tryOut(Choice choice, StepCostOf costOf) {
  auto [it, fresh] =
      known.try_emplace({choice.numMoves, choice.numGathers}, StepCost());
  if (!fresh)
    return true;
  take(choice);
  FailureOr<StepCost> cost = costOf(applied);
  if (failed(cost))
    return false;
  it->second = *cost;
  if (cost->isBelow(best->second, limit))
    best = {choice, *cost};
  return true;
}

bool RecomputeSearch::fits(Choice choice) const {
  return known.at({choice.numMoves, choice.numGathers}).arenaBytes <= limit;
}

/// Fewer of `what` than in `fitting`, but more than `tooFew`, may do.
bool RecomputeSearch::bisect(Choice fitting, size_t tooFew,
                             size_t Choice::*what, StepCostOf costOf) {
  while (tooFew + 1 < fitting.*what) {
    Choice middle = fitting;
    middle.*what = tooFew + (fitting.*what - tooFew) / 2;
    if (!tryOut(middle, costOf))
      return false;
    if (fits(middle))
      fitting = middle;
    else
      tooFew = middle.*what;
  }
  return true;
}

static constexpr size_t maxTried = 8;

FailureOr<std::pair<RecomputeSearch::Choice, StepCost>>
RecomputeSearch::run(uint64_t bound, StepCost start, StepCostOf costOf) {
  take(Choice()); // of an earlier run
  findGathering(start.keepingLayers);
  limit = bound;
  known = {{{0, 0}, start}};
  best = {Choice(), start};
  size_t before = 0;
  for (size_t numMoves : pricePoints()) {
    Choice kept{numMoves, 0}, gathered{numMoves, gathering.size()};
    if (!tryOut(kept, costOf))
      return failure();
    const StepCost &cost = known.at({numMoves, 0});
    if (fits(kept)) {
      // Between two prices instances of one layer follow each other, and each
      // saves what the one before it did.
      if (!bisect(kept, before, &Choice::numMoves, costOf))
        return failure();
      break;
    }
    // More moves take more time.
    if (fits(best->first) && best->second.seconds <= cost.seconds)
      break;
    if (!cost.keepingLayers.empty()) {
      // Of few layers all numbers are tried: what a packing wastes differs, so
      // that more gathers need not take less.
      bool few = gathering.size() <= maxTried;
      for (Choice some{numMoves, 1}; few && some.numGathers < gathering.size();
           ++some.numGathers)
        if (!tryOut(some, costOf))
          return failure();
      if (!tryOut(gathered, costOf))
        return failure();
      if (fits(gathered) &&
          ((!few && !bisect(gathered, 0, &Choice::numGathers, costOf)) ||
           !bisect(gathered, before, &Choice::numMoves, costOf)))
        return failure();
    }
    before = numMoves;
  }
  take(best->first);
  return *best;
}
