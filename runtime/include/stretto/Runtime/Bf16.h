//===- Bf16.h - bf16 numbers ------------------------------------*- C++ -*-===//
//
// The upper half of an f32. Always inlined, so that sources compiled for
// several instruction set levels may use it. Depends on nothing.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_BF16_H
#define STRETTO_RUNTIME_BF16_H

#include <cstdint>

namespace stretto::runtime {

struct Bf16 {
  uint16_t bits;
};

[[gnu::always_inline]] inline float widen(float x) { return x; }
[[gnu::always_inline]] inline float widen(Bf16 x) {
  uint32_t bits = uint32_t(x.bits) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

/// To the nearest, ties to even; NaN stays NaN, quiet.
[[gnu::always_inline]] inline Bf16 narrow(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  return {uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded)};
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_BF16_H
