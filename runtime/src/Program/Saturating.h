//===- Saturating.h - sizes that do not wrap --------------------*- C++ -*-===//
//
// Sizes from a file are multiplied and added without wrapping: what would
// overflow becomes the largest number, which no bound admits.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_PROGRAM_SATURATING_H
#define STRETTO_RUNTIME_PROGRAM_SATURATING_H

#include <cstdint>

namespace stretto::runtime {

inline uint64_t saturatingMul(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

inline uint64_t saturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// Whether [offset, offset + bytes) lies within [0, limit).
inline bool fits(uint64_t offset, uint64_t bytes, uint64_t limit) {
  return offset <= limit && bytes <= limit - offset;
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_PROGRAM_SATURATING_H
