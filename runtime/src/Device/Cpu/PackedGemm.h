//===- PackedGemm.h - large matrix products ---------------------*- C++ -*-===//
//
// Our own matrix product for large operands that oneDNN is slow at or packs
// into buffers from the heap: above all gradients of weights, where A is
// transposed. Works on any strides, with a workspace of the caller. bf16 is
// widened while it is packed, for processors without instructions for it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_PACKEDGEMM_H
#define STRETTO_RUNTIME_DEVICE_CPU_PACKEDGEMM_H

#include "stretto/Runtime/Bf16.h"

namespace stretto::runtime {

/// c[i, j] = sum over l of a[i, l] * b[l, j] (+ c[i, j]); columns of c are
/// contiguous. Terms are summed 256 at a time.
template <typename T> struct PackedGemm {
  const T *a;
  int64_t aRow, aCol;
  const T *b;
  int64_t bRow, bCol;
  float *c;
  int64_t cRow;
  int64_t m, n, k;
  bool accumulate = false;
  float *workspace = nullptr; ///< 64-byte aligned
};

constexpr int64_t packedGemmWorkspace = 300 * 1024; ///< elements

template <typename T> using PackedGemmFn = void (*)(const PackedGemm<T> &);

/// Of the best instruction set level of the host.
template <typename T> PackedGemmFn<T> packedGemm();

/// By products of pairs, where hostHasBf16: terms are summed 512 at a time,
/// denormals count as zero. Terms may not lie in one place (aCol, bRow > 0).
void packedPairs(const PackedGemm<Bf16> &product);

namespace x86v1 {
void packedGemm(const PackedGemm<float> &product);
void packedGemm(const PackedGemm<Bf16> &product);
} // namespace x86v1
namespace x86v3 {
void packedGemm(const PackedGemm<float> &product);
void packedGemm(const PackedGemm<Bf16> &product);
} // namespace x86v3
namespace x86v4 {
void packedGemm(const PackedGemm<float> &product);
void packedGemm(const PackedGemm<Bf16> &product);
} // namespace x86v4

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_PACKEDGEMM_H
