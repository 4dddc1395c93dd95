//===- NonFinite.cpp - the first value that is not finite -----------------===//

#include "NonFinite.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace stretto::runtime {

/// An element is not finite when all bits of its exponent are set.
template <typename Word>
static FirstBad search(const char *data, uint64_t bytes, Word exponent,
                       Word mantissa) {
  FirstBad found;
  for (uint64_t i = 0; i < bytes / sizeof(Word); ++i) {
    Word bits;
    std::memcpy(&bits, data + i * sizeof(Word), sizeof(Word));
    if ((bits & exponent) != exponent)
      continue;
    bool isNan = bits & mantissa;
    if (found.element >= 0 && !isNan)
      continue;
    bool negative = bits & ~(exponent | mantissa);
    found.element = int64_t(i);
    found.value = isNan ? std::numeric_limits<double>::quiet_NaN()
                        : std::numeric_limits<double>::infinity();
    found.value = std::copysign(found.value, negative ? -1.0 : 1.0);
    if (isNan)
      break;
  }
  return found;
}

FirstBad findBad(program::DType type, const char *data, uint64_t bytes) {
  switch (type) {
  case program::DType::F32:
    return search<uint32_t>(data, bytes, 0x7f800000, 0x007fffff);
  case program::DType::F64:
    return search<uint64_t>(data, bytes, 0x7ff0000000000000,
                            0x000fffffffffffff);
  case program::DType::BF16:
    return search<uint16_t>(data, bytes, 0x7f80, 0x007f);
  case program::DType::F16:
    return search<uint16_t>(data, bytes, 0x7c00, 0x03ff);
  default:
    return FirstBad();
  }
}

} // namespace stretto::runtime
