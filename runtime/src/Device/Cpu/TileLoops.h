//===- TileLoops.h - the loops of small matrix products ---------*- C++ -*-===//
//
// C is computed in tiles that stay in registers over all of k: at each step a
// few vectors of a row of B, and one element of A for each row of the tile.
// Included by sources that are compiled for one instruction set level each; all
// here is theirs alone. No function of a standard header may be used (see
// stretto_isa_sources).
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_TILELOOPS_H
#define STRETTO_RUNTIME_DEVICE_CPU_TILELOOPS_H

#include "VectorLoops.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

// Tile of rows x vectors that fills the registers: 24 of 32 (AVX-512), or 12 of
// 16 that hold half or a quarter of a vector.
#if defined(__AVX512F__)
constexpr int maxRows = 6, maxVectors = 4;
#elif defined(__AVX2__)
constexpr int maxRows = 6, maxVectors = 1;
#else
constexpr int maxRows = 3, maxVectors = 1;
#endif

inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

inline void multiplyAdd(float &sum, float left, float right) {
  sum += left * right;
}

/// Steps of the sum that the rows [row, row + rows) take.
template <typename Term> struct Terms {
  static constexpr int64_t width = termsPerStep<Term>;
  int64_t begin, end;
  Terms(const TileProduct<Term> &p, int64_t row, int64_t rows)
      : begin(max(0, row + p.firstTerm) / width),
        end(min(p.k, (max(0, row + rows + p.endTerm) + width - 1) / width)) {}
};

template <int rows, int vectors, typename Term>
void tile(const TileProduct<Term> &p, int64_t row, int64_t column) {
  const Terms<Term> terms(p, row, rows);
  const Term *a = p.a + row * p.aRow + terms.begin * p.aCol;
  const Term *b = p.b + terms.begin * p.bRow + column;
  Floats sum[rows][vectors] = {};
  for (int64_t l = terms.begin; l < terms.end; ++l) {
    decltype(load(b)) right[vectors];
    STRETTO_UNROLL
    for (int v = 0; v < vectors; ++v)
      right[v] = load(b + v * lanes);
    STRETTO_UNROLL
    for (int i = 0; i < rows; ++i) {
      Term left = a[i * p.aRow];
      STRETTO_UNROLL
      for (int v = 0; v < vectors; ++v)
        multiplyAdd(sum[i][v], left, right[v]);
    }
    a += p.aCol;
    b += p.bRow;
  }
  float *c = p.c + row * p.cRow + column;
  STRETTO_UNROLL
  for (int i = 0; i < rows; ++i) {
    float scale = p.rowScale ? p.rowScale[row + i] : 1.0f;
    STRETTO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      float *target = c + i * p.cRow + v * lanes;
      store(target,
            p.accumulate ? load(target) + sum[i][v] : sum[i][v] * scale);
    }
  }
}

/// Columns that are no whole vector, one element at a time.
template <typename Term>
void narrow(const TileProduct<Term> &p, int64_t row, int64_t column) {
  const Terms<Term> terms(p, row, 1);
  float *target = p.c + row * p.cRow + column;
  for (int64_t j = column; j < p.n; ++j, ++target) {
    float sum = 0;
    for (int64_t l = terms.begin; l < terms.end; ++l)
      multiplyAdd(sum, p.a[row * p.aRow + l * p.aCol], p.b[l * p.bRow + j]);
    float scale = p.rowScale ? p.rowScale[row] : 1.0f;
    *target = p.accumulate ? *target + sum : sum * scale;
  }
}

/// One tile of up to `vectors` vectors, from the first column of the band on.
template <int rows, int vectors, typename Term>
void bandTile(const TileProduct<Term> &p, int64_t row, int64_t column,
              int64_t first) {
  if constexpr (vectors > 0) {
    if (first > column)
      bandTile<rows, vectors - 1>(p, row, column + lanes, first);
    else
      tile<rows, vectors>(p, row, column);
  }
}

/// All rows of a panel of columns. What is left after the largest tiles is
/// taken with ever smaller ones.
template <int rows, int vectors, typename Term>
void panel(const TileProduct<Term> &p, int64_t row, int64_t column) {
  if constexpr (rows > 0) {
    for (; row + rows <= p.m; row += rows)
      bandTile<rows, vectors>(p, row, column,
                              (row + p.firstColumn) / lanes * lanes);
    panel<rows - 1, vectors>(p, row, column);
  }
}

template <int vectors, typename Term>
void panels(const TileProduct<Term> &p, int64_t column) {
  if constexpr (vectors > 0) {
    constexpr int64_t width = vectors * lanes;
    for (; column + width <= p.n; column += width)
      panel<maxRows, vectors>(p, 0, column);
    panels<vectors - 1>(p, column);
  } else if (column < p.n) {
    for (int64_t row = 0; row < p.m; ++row)
      narrow(p, row, column);
  }
}

} // namespace

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE

#endif // STRETTO_RUNTIME_DEVICE_CPU_TILELOOPS_H
