//===- Packing.cpp - lifetimes into offsets -------------------------------===//

#include "stretto/Transforms/Memory/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace llvm;
using namespace stretto;

static uint64_t mostAlive(ArrayRef<Lifetime> lifetimes) {
  SmallVector<std::pair<int64_t, int64_t>> changes; // time, bytes
  for (const Lifetime &life : lifetimes) {
    changes.push_back({life.first, int64_t(life.bytes)});
    changes.push_back({life.last + 1, -int64_t(life.bytes)});
  }
  llvm::sort(changes); // at one time, deaths come first
  int64_t alive = 0, most = 0;
  for (auto [time, bytes] : changes)
    most = std::max(most, alive += bytes);
  return most;
}

namespace {
/// A placed buffer; the list of them is kept sorted by offset.
struct Placed {
  uint64_t offset;
  Lifetime life;
};
} // namespace

/// The smallest gap between contemporaries that holds `life`, else the end of
/// the highest of them.
static uint64_t bestGap(ArrayRef<Placed> placed, const Lifetime &life) {
  uint64_t best = 0, bestSize = UINT64_MAX, end = 0;
  for (const Placed &other : placed) {
    if (!other.life.overlaps(life))
      continue;
    if (other.offset > end) {
      uint64_t gap = other.offset - end;
      if (gap >= life.bytes && gap < bestSize) {
        best = end;
        bestSize = gap;
      }
    }
    end = std::max(end, other.offset + other.life.bytes);
  }
  return bestSize == UINT64_MAX ? end : best;
}

Packing stretto::pack(ArrayRef<Lifetime> lifetimes, uint64_t alignment) {
  SmallVector<Lifetime> rounded(lifetimes);
  for (Lifetime &life : rounded)
    life.bytes = (life.bytes + alignment - 1) / alignment * alignment;
  SmallVector<unsigned> order(rounded.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    if (rounded[lhs].bytes != rounded[rhs].bytes)
      return rounded[lhs].bytes > rounded[rhs].bytes;
    return lhs < rhs;
  });

  Packing packing;
  packing.live = mostAlive(rounded);
  packing.offsets.resize(rounded.size());
  SmallVector<Placed> placed;
  for (unsigned index : order) {
    if (rounded[index].bytes == 0)
      continue;
    uint64_t offset = bestGap(placed, rounded[index]);
    packing.offsets[index] = offset;
    packing.bytes = std::max(packing.bytes, offset + rounded[index].bytes);
    auto after =
        llvm::upper_bound(placed, offset, [](uint64_t at, const Placed &other) {
          return at < other.offset;
        });
    placed.insert(after, {offset, rounded[index]});
  }
  return packing;
}
