//===- TilePairs.cpp - small matrix products of bf16 ----------------------===//
//
// Compiled for processors with AVX512-BF16 only: one instruction multiplies and
// adds two terms.
//
//===----------------------------------------------------------------------===//

#include "TileGemm.h"

#include <immintrin.h>

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

typedef float Floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t Pairs __attribute__((vector_size(64), aligned(4), may_alias));

inline Pairs load(const Bf16Pair *from) {
  return *reinterpret_cast<const Pairs *>(from);
}
inline void multiplyAdd(Floats &sum, Bf16Pair left, Pairs right) {
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

#include "TileLoops.h"

namespace stretto::runtime {

void tilePairs(const TilePairs &product) {
  STRETTO_ISA_NAMESPACE::panels<STRETTO_ISA_NAMESPACE::maxVectors>(product, 0);
}

} // namespace stretto::runtime
