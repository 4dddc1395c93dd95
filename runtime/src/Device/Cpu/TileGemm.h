//===- TileGemm.h - small matrix products -----------------------*- C++ -*-===//
//
// Our own matrix product for sizes at which oneDNN's call overhead, packing and
// heap buffers cost more than the product: attention, and small GEMMs. It works
// in place on strided operands, allocates nothing, and can leave out what a
// causal mask makes zero.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_TILEGEMM_H
#define STRETTO_RUNTIME_DEVICE_CPU_TILEGEMM_H

#include <cstdint>

namespace stretto::runtime {

/// c[i, j] = scale_i * sum over l of a[i, l] * b[l, j] (+ c[i, j]). Columns of
/// b and c are contiguous, a has any strides.
///
/// The shifts describe a band: in row i only columns j >= i + firstColumn, and
/// terms i + firstTerm <= l < i + 1 + endTerm, matter. The others may be left
/// out (columns: not written; terms: taken as zero) or not, as suits the tiles,
/// so outside of the band a, b and c hold zeros or are not used.
template <typename Term> struct TileProduct {
  const Term *a;
  int64_t aRow, aCol;
  const Term *b;
  int64_t bRow;
  float *c;
  int64_t cRow;
  int64_t m, n, k;
  bool accumulate = false;
  const float *rowScale = nullptr; ///< null: 1; not with accumulate

  static constexpr int64_t nothing = int64_t(1) << 40;
  int64_t firstColumn = -nothing;
  int64_t firstTerm = -nothing;
  int64_t endTerm = nothing;
};

using TileGemm = TileProduct<float>;

/// Two neighbouring terms in bf16, the first in the lower half. k and strides
/// count pairs, the shifts of the band single terms.
enum class Bf16Pair : uint32_t {};
using TilePairs = TileProduct<Bf16Pair>;

using TileGemmFn = void (*)(const TileGemm &product);

/// Of the best instruction set level of the host.
TileGemmFn tileGemm();

/// Only where hostHasBf16. Denormals count as zero.
void tilePairs(const TilePairs &product);

namespace x86v1 {
void tileGemm(const TileGemm &product);
}
namespace x86v3 {
void tileGemm(const TileGemm &product);
}
namespace x86v4 {
void tileGemm(const TileGemm &product);
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_TILEGEMM_H
