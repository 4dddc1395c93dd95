//===- Bf16Dot.h - sums of products of bf16 pairs ---------------*- C++ -*-===//
//
// The step of TileLoops and PackedLoops on pairs, one instruction. Comes before
// them in sources that are compiled for processors with AVX512-BF16.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_BF16DOT_H
#define STRETTO_RUNTIME_DEVICE_CPU_BF16DOT_H

#include "TileGemm.h"

#include <immintrin.h>

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

typedef float Floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(64), aligned(4), may_alias));

inline void multiplyAdd(Floats &sum, Bf16Pair left, Words right) {
  sum = (Floats)_mm512_dpbf16_ps(
      (__m512)sum, (__m512bh)_mm512_set1_epi32(int32_t(left)), (__m512bh)right);
}
inline void multiplyAdd(float &sum, Bf16Pair left, Bf16Pair right) {
  auto upper = [](uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  };
  uint32_t x = uint32_t(left), y = uint32_t(right);
  sum += upper(x << 16) * upper(y << 16);
  sum += upper(x & 0xffff0000u) * upper(y & 0xffff0000u);
}

} // namespace

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE

#endif // STRETTO_RUNTIME_DEVICE_CPU_BF16DOT_H
