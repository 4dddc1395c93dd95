//===- Packing.h - lifetimes into offsets -----------------------*- C++ -*-===//
//
// Dynamic storage allocation, off line: buffers with known lifetimes and sizes
// get offsets such that no two that live at one time overlap. Pure data; used
// for the scratch of a segment and for the regions of a step.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_PACKING_H
#define STRETTO_TRANSFORMS_MEMORY_PACKING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

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

struct Packing {
  llvm::SmallVector<uint64_t> offsets; ///< per lifetime, multiples of alignment
  uint64_t bytes = 0;                  ///< end of the highest buffer
  uint64_t live = 0; ///< most bytes alive at one time: no packing needs less
};

/// Largest first, each at the lowest gap that fits it best among those of its
/// contemporaries (Sekiyama et al., arXiv 1804.10001). O(n^2). Sizes are
/// rounded up to `alignment`.
Packing pack(llvm::ArrayRef<Lifetime> lifetimes, uint64_t alignment);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_PACKING_H
