//===- Packing.h - lifetimes into offsets -----------------------*- C++ -*-===//
//
// Dynamic storage allocation, off line: buffers with known lifetimes and sizes
// get offsets such that no two that live at one time overlap. Pure data; used
// for the scratch of a segment, where time is the order of commands, and for
// what a step shares, where calls on several streams overlap.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_PACKING_H
#define STRETTO_TRANSFORMS_MEMORY_PACKING_H

#include "stretto/Transforms/Overlap/StreamOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace stretto {

/// Alive at times first..last, both included.
struct Lifetime {
  int64_t first = 0;
  int64_t last = 0;
  uint64_t bytes = 0;

  bool overlaps(const Lifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Alive from one call of a schedule to others.
struct Tenancy {
  Span span;
  uint64_t bytes = 0;
  std::optional<uint64_t> offset; ///< where it must lie

  bool overlaps(const Tenancy &other) const {
    return !span.isBefore(other.span) && !other.span.isBefore(span);
  }
};

struct Packing {
  llvm::SmallVector<uint64_t> offsets; ///< per lifetime, multiples of alignment
  uint64_t bytes = 0;                  ///< end of the highest buffer
  /// Most bytes alive at one time: no packing needs less. (Lifetimes only.)
  uint64_t live = 0;
};

/// Largest first, each at the lowest gap that fits it best among those of its
/// contemporaries (Sekiyama et al., arXiv 1804.10001). O(n^2). Sizes are
/// rounded up to `alignment`.
Packing pack(llvm::ArrayRef<Lifetime> lifetimes, uint64_t alignment);
/// The same; what must lie somewhere is there, and multiples of `alignment`
/// apart from what else it must not meet.
Packing pack(llvm::ArrayRef<Tenancy> tenancies, uint64_t alignment);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_PACKING_H
