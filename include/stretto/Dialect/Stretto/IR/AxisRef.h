//===- AxisRef.h - a mesh axis or a sub-axis of it --------------*- C++ -*-===//
//
// The smallest word of a distribution: an axis of a mesh by index, or the
// sub-axis of it that lies minor to a product `pre` of sub-axes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_AXISREF_H
#define STRETTO_DIALECT_STRETTO_IR_AXISREF_H

#include "llvm/ADT/Hashing.h"
#include <cstdint>
#include <tuple>

namespace stretto {

/// Coordinate of a rank with index i on the axis of size n:
/// (i / (n / (pre * size))) % size.
struct AxisRef {
  unsigned axis;
  int64_t pre;
  int64_t size;

  bool operator==(const AxisRef &other) const {
    return axis == other.axis && pre == other.pre && size == other.size;
  }
  bool operator!=(const AxisRef &other) const { return !(*this == other); }
  bool operator<(const AxisRef &other) const {
    return std::tie(axis, pre, size) <
           std::tie(other.axis, other.pre, other.size);
  }
  /// Do the two share ranks' coordinates (same axis, intersecting digits)?
  bool overlaps(const AxisRef &other) const {
    return axis == other.axis && pre < other.pre * other.size &&
           other.pre < pre * size;
  }
};

inline llvm::hash_code hash_value(const AxisRef &ref) {
  return llvm::hash_combine(ref.axis, ref.pre, ref.size);
}

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_AXISREF_H
