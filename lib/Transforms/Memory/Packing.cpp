//===- Packing.cpp - lifetimes into offsets -------------------------------===//

#include "stretto/Transforms/Memory/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
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

/// The smallest gap between contemporaries that holds `item`, else the end of
/// the highest of them. `placed`: indices by offset.
template <typename Item>
static uint64_t bestGap(ArrayRef<Item> items, ArrayRef<uint64_t> offsets,
                        ArrayRef<unsigned> placed, const Item &item) {
  uint64_t best = 0, bestSize = UINT64_MAX, end = 0;
  for (unsigned index : placed) {
    const Item &other = items[index];
    uint64_t offset = offsets[index];
    if (offset + other.bytes <= end || !other.overlaps(item))
      continue;
    if (offset > end) {
      uint64_t gap = offset - end;
      if (gap >= item.bytes && gap < bestSize) {
        best = end;
        bestSize = gap;
      }
    }
    end = offset + other.bytes;
  }
  return bestSize == UINT64_MAX ? end : best;
}

static std::optional<uint64_t> fixedOffset(const Lifetime &) {
  return std::nullopt;
}
static std::optional<uint64_t> fixedOffset(const Tenancy &tenancy) {
  return tenancy.offset;
}

/// Those that must lie somewhere, then the largest first.
template <typename Item>
static SmallVector<unsigned> orderOf(ArrayRef<Item> items) {
  SmallVector<unsigned> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](unsigned lhs, unsigned rhs) {
    bool fixed = fixedOffset(items[lhs]).has_value();
    if (fixed != fixedOffset(items[rhs]).has_value())
      return fixed;
    if (items[lhs].bytes != items[rhs].bytes)
      return items[lhs].bytes > items[rhs].bytes;
    return lhs < rhs;
  });
  return order;
}

template <typename Item>
static Packing packItems(ArrayRef<Item> given, uint64_t alignment) {
  SmallVector<Item> items(given);
  for (Item &item : items)
    item.bytes = alignTo(item.bytes, alignment);
  Packing packing;
  packing.offsets.resize(items.size());
  SmallVector<unsigned> placed;
  for (unsigned index : orderOf(ArrayRef(items))) {
    const Item &item = items[index];
    if (item.bytes == 0)
      continue;
    std::optional<uint64_t> fixed = fixedOffset(item);
    uint64_t offset =
        fixed ? *fixed
              : bestGap(ArrayRef(items), packing.offsets, placed, item);
    packing.offsets[index] = offset;
    packing.bytes = std::max(packing.bytes, offset + item.bytes);
    auto after =
        llvm::upper_bound(placed, offset, [&](uint64_t at, unsigned other) {
          return at < packing.offsets[other];
        });
    placed.insert(after, index);
  }
  return packing;
}

Packing stretto::pack(ArrayRef<Lifetime> lifetimes, uint64_t alignment) {
  Packing packing = packItems(lifetimes, alignment);
  SmallVector<Lifetime> rounded(lifetimes);
  for (Lifetime &life : rounded)
    life.bytes = alignTo(life.bytes, alignment);
  packing.live = mostAlive(rounded);
  return packing;
}

Packing stretto::pack(ArrayRef<Tenancy> tenancies, uint64_t alignment) {
  return packItems(tenancies, alignment);
}
