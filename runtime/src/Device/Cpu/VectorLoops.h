//===- VectorLoops.h - the vectors of matrix products -----------*- C++ -*-===//
//
// What the loops of small and of large products share: vectors of 16 lanes,
// whatever registers the processor has, and steps of a sum of one term in f32
// or two in bf16. Included by sources that are compiled for one instruction set
// level each; all here is theirs alone.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_VECTORLOOPS_H
#define STRETTO_RUNTIME_DEVICE_CPU_VECTORLOOPS_H

#include "TileGemm.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

constexpr int64_t lanes = 16;
typedef float Floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(64), aligned(4), may_alias));

#if defined(__clang__)
#define STRETTO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define STRETTO_UNROLL _Pragma("GCC unroll 16")
#endif

inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

inline Floats load(const float *from) {
  return *reinterpret_cast<const Floats *>(from);
}
inline Words load(const Bf16Pair *from) {
  return *reinterpret_cast<const Words *>(from);
}
inline void store(float *to, Floats value) {
  *reinterpret_cast<Floats *>(to) = value;
}

inline void multiplyAdd(Floats &sum, float left, Floats right) {
  sum += left * right;
}

/// What a step of the sum takes.
template <typename Step> constexpr int64_t termsPerStep = 1;
template <> inline constexpr int64_t termsPerStep<Bf16Pair> = 2;

} // namespace

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE

#endif // STRETTO_RUNTIME_DEVICE_CPU_VECTORLOOPS_H
