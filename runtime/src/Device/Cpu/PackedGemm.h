//===- PackedGemm.h - large matrix products ---------------------*- C++ -*-===//
//
// Our own matrix product for large operands that oneDNN is slow at or packs
// into buffers from the heap: above all gradients of weights, where A is
// transposed. Works on any strides, with a workspace of the caller.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_PACKEDGEMM_H
#define STRETTO_RUNTIME_DEVICE_CPU_PACKEDGEMM_H

#include <cstdint>

namespace stretto::runtime {

/// c[i, j] = sum over l of a[i, l] * b[l, j] (+ c[i, j]); columns of c are
/// contiguous. Terms are summed 256 at a time.
struct PackedGemm {
  const float *a;
  int64_t aRow, aCol;
  const float *b;
  int64_t bRow, bCol;
  float *c;
  int64_t cRow;
  int64_t m, n, k;
  bool accumulate = false;
  float *workspace = nullptr; ///< 64-byte aligned

  static constexpr int64_t workspaceElements = 300 * 1024;
};

using PackedGemmFn = void (*)(const PackedGemm &product);

/// Of the best instruction set level of the host.
PackedGemmFn packedGemm();

namespace x86v1 {
void packedGemm(const PackedGemm &product);
}
namespace x86v3 {
void packedGemm(const PackedGemm &product);
}
namespace x86v4 {
void packedGemm(const PackedGemm &product);
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_PACKEDGEMM_H
