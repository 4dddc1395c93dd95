//===- RecomputeSearch.cpp - recompute as much as memory demands ----------===//

#include "RecomputeSearch.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Transforms/Derive/RecomputeFrontier.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {

/// An instance goes from one point of its frontier to the next.
struct Move {
  unsigned instance, point;
  double flopsPerByte;
};

class Search {
public:
  Search(ModuleOp applied, std::vector<InstanceFrontier> frontiers)
      : applied(applied), frontiers(std::move(frontiers)) {
    orderMoves();
  }

  LogicalResult run(uint64_t limit, ArenaOf arenaOf);

private:
  void orderMoves();
  void take(size_t numMoves);
  FailureOr<uint64_t> arenaAfter(size_t numMoves, ArenaOf arenaOf);
  SmallVector<size_t> pricePoints() const;

  ModuleOp applied;
  std::vector<InstanceFrontier> frontiers;
  std::vector<Move> moves;
};

} // namespace

/// Along a frontier bytes get dearer, so the moves of one instance stay in
/// order; later instances, which keep their values the shortest, come last.
void Search::orderMoves() {
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

/// Writes the state after the first `numMoves` moves into the module.
void Search::take(size_t numMoves) {
  llvm::StringMap<double> bytes;
  for (const InstanceFrontier &frontier : frontiers)
    bytes[frontier.scope] = frontier.points.front().bytes;
  for (const Move &move : ArrayRef(moves).take_front(numMoves))
    bytes[frontiers[move.instance].scope] =
        frontiers[move.instance].points[move.point].bytes;
  Builder builder(applied.getContext());
  for (ModelOp model : applied.getOps<ModelOp>())
    for (CallOp call : model.getOps<CallOp>())
      if (auto it = bytes.find(call.getScope()); it != bytes.end())
        call->setAttr(attr::keepBytes,
                      builder.getI64IntegerAttr(int64_t(it->second)));
}

FailureOr<uint64_t> Search::arenaAfter(size_t numMoves, ArenaOf arenaOf) {
  take(numMoves);
  return arenaOf(applied);
}

/// 0, then the number of moves after each price.
SmallVector<size_t> Search::pricePoints() const {
  SmallVector<size_t> points = {0};
  for (size_t i = 0; i < moves.size(); ++i)
    if (i + 1 == moves.size() ||
        moves[i + 1].flopsPerByte > moves[i].flopsPerByte)
      points.push_back(i + 1);
  return points;
}

/// What backward repeats lies in scratch, so the arena need not fall with every
/// price: they are tried in order. Between two prices instances of one layer
/// follow each other, and each saves what the one before it did.
LogicalResult Search::run(uint64_t limit, ArenaOf arenaOf) {
  uint64_t best = std::numeric_limits<uint64_t>::max();
  size_t bestMoves = 0, tooFew = 0;
  for (size_t numMoves : pricePoints()) {
    FailureOr<uint64_t> arena = arenaAfter(numMoves, arenaOf);
    if (failed(arena))
      return failure();
    if (*arena < best)
      std::tie(best, bestMoves) = std::pair(*arena, numMoves);
    if (*arena <= limit)
      break;
    tooFew = numMoves;
  }
  size_t enough = bestMoves;
  while (best <= limit && tooFew + 1 < enough) {
    size_t middle = tooFew + (enough - tooFew) / 2;
    FailureOr<uint64_t> arena = arenaAfter(middle, arenaOf);
    if (failed(arena))
      return failure();
    (*arena <= limit ? enough : tooFew) = middle;
  }
  take(enough);
  return success();
}

LogicalResult driver::settleRecompute(ModuleOp applied, uint64_t limit,
                                      ArenaOf arenaOf) {
  FailureOr<std::vector<InstanceFrontier>> frontiers =
      recomputeFrontiers(applied);
  if (failed(frontiers))
    return failure();
  return Search(applied, std::move(*frontiers)).run(limit, arenaOf);
}
