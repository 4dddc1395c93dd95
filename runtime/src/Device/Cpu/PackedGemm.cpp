//===- PackedGemm.cpp - large matrix products -----------------------------===//
//
// Compiled once for each instruction set level; no function of a standard
// header may be used here (see stretto_isa_sources).
//
// The usual blocking (Goto, van de Geijn: Anatomy of High-Performance Matrix
// Multiplication, 2008), with B in the second-level cache: a block of B of 256
// terms is packed into panels as wide as a tile of C; then, for one strip of
// rows of A after the other, packed in the first-level cache, every panel gives
// one tile, kept in registers over the 256 terms. Packing makes what the tiles
// read contiguous and pays once per block; where the operand's own lines are
// contiguous (A transposed, B not) it moves whole vectors.
//
//===----------------------------------------------------------------------===//

#include "PackedGemm.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

constexpr int64_t lanes = 16;
typedef float Floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint16_t Halves __attribute__((vector_size(32), aligned(2), may_alias));

// Tile that leaves a few registers free: 28 of 32 (AVX-512), or 12 of 16 that
// hold half or a quarter of a vector.
#if defined(__AVX512F__)
constexpr int maxRows = 14, vectors = 2;
#elif defined(__AVX2__)
constexpr int maxRows = 6, vectors = 1;
#else
constexpr int maxRows = 3, vectors = 1;
#endif
constexpr int64_t width = vectors * lanes;
constexpr int64_t maxTerms = 256;    // of a block
constexpr int64_t maxColumns = 1024; // of a block of B: 1 MiB
static_assert(maxColumns % width == 0 &&
                  maxTerms * (maxColumns + lanes) + width * maxRows <=
                      packedGemmWorkspace,
              "the workspace holds a block, a strip and a tile");

#if defined(__clang__)
#define STRETTO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define STRETTO_UNROLL _Pragma("GCC unroll 16")
#endif

inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

inline Floats load(const float *from) {
  return *reinterpret_cast<const Floats *>(from);
}
inline Floats load(const Bf16 *from) {
  Halves halves = *reinterpret_cast<const Halves *>(from);
  return (Floats)(__builtin_convertvector(halves, Words) << 16);
}
inline void store(float *to, Floats value) {
  *reinterpret_cast<Floats *>(to) = value;
}

/// Fetches rows that are packed soon into the second-level cache, a few lines
/// at a time: the processor does not foresee short pieces at large strides.
template <typename T> class Prefetch {
public:
  Prefetch(const T *start, int64_t stride, int64_t rows, int64_t elements)
      : row(start), stride(stride), rows(rows), elements(elements) {}

  void lines(int64_t count) {
    for (; count > 0 && rows > 0; --count) {
      __builtin_prefetch(row + at, /*write=*/0, /*locality=*/2);
      at += int64_t(64 / sizeof(T));
      if (at >= elements) {
        at = 0;
        row += stride;
        --rows;
      }
    }
  }

private:
  const T *row;
  int64_t stride, rows, elements, at = 0;
};

/// What one block adds to C.
template <typename T> struct Block {
  const PackedGemm<T> &p;
  int64_t firstTerm, terms;
  int64_t firstColumn, columns;
  float *panels, *strip, *spare;
  Prefetch<T> &next; ///< block of B

  int64_t tilesPerStrip() const { return columns / width + 1; }
  int64_t linesPerTile() const {
    return maxTerms * columns / lanes / tilesPerStrip() / (p.m / maxRows + 1) +
           1;
  }

  bool accumulates() const { return p.accumulate || firstTerm > 0; }
};

/// panel[l * width + j] = b[l, column + j], zero beyond the last column.
template <typename T>
void packPanel(const Block<T> &block, int64_t column, float *panel) {
  const PackedGemm<T> &p = block.p;
  const T *from =
      p.b + block.firstTerm * p.bRow + (block.firstColumn + column) * p.bCol;
  int64_t valid = min(width, block.columns - column);
  if (valid == width && p.bCol == 1) {
    for (int64_t l = 0; l < block.terms; ++l, from += p.bRow, panel += width) {
      STRETTO_UNROLL
      for (int v = 0; v < vectors; ++v)
        store(panel + v * lanes, load(from + v * lanes));
    }
    return;
  }
  for (int64_t l = 0; l < block.terms; ++l, from += p.bRow, panel += width)
    for (int64_t j = 0; j < width; ++j)
      panel[j] = j < valid ? widen(from[j * p.bCol]) : 0.0f;
}

template <int count> inline void copyRun(float *to, const float *from) {
  __builtin_memcpy(to, from, count * sizeof(float));
}
template <int count> inline void copyRun(float *to, const Bf16 *from) {
  STRETTO_UNROLL
  for (int i = 0; i < count; ++i)
    to[i] = widen(from[i]);
}

/// strip[l * rows + i] = a[row + i, l].
template <int rows, typename T>
void packStrip(const Block<T> &block, int64_t row) {
  const PackedGemm<T> &p = block.p;
  const T *from = p.a + row * p.aRow + block.firstTerm * p.aCol;
  float *strip = block.strip;
  if (p.aRow == 1) {
    for (int64_t l = 0; l < block.terms; ++l, from += p.aCol, strip += rows)
      copyRun<rows>(strip, from);
    return;
  }
  for (int64_t l = 0; l < block.terms; ++l, from += p.aCol, strip += rows) {
    STRETTO_UNROLL
    for (int i = 0; i < rows; ++i)
      strip[i] = widen(from[i * p.aRow]);
  }
}

template <int rows>
void tile(const float *a, const float *b, int64_t terms, float *c, int64_t cRow,
          bool accumulate) {
  Floats sum[rows][vectors] = {};
  for (int64_t l = 0; l < terms; ++l, a += rows, b += width) {
    Floats right[vectors];
    STRETTO_UNROLL
    for (int v = 0; v < vectors; ++v)
      right[v] = load(b + v * lanes);
    STRETTO_UNROLL
    for (int i = 0; i < rows; ++i) {
      STRETTO_UNROLL
      for (int v = 0; v < vectors; ++v)
        sum[i][v] += a[i] * right[v];
    }
  }
  STRETTO_UNROLL
  for (int i = 0; i < rows; ++i) {
    STRETTO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      float *target = c + i * cRow + v * lanes;
      store(target, accumulate ? load(target) + sum[i][v] : sum[i][v]);
    }
  }
}

/// The last columns, fewer than a tile has: over a tile of our own.
template <int rows, typename T>
void narrowTile(const Block<T> &block, const float *panel, float *c,
                int64_t columns) {
  tile<rows>(block.strip, panel, block.terms, block.spare, width, false);
  for (int i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = block.spare[i * width + j];
      float &target = c[i * block.p.cRow + j];
      target = block.accumulates() ? target + sum : sum;
    }
}

/// The last line that each term of the strip at `row` has: the first one is
/// often that of the strip before.
template <typename T>
Prefetch<T> stripAfter(const Block<T> &block, int64_t row) {
  const PackedGemm<T> &p = block.p;
  int64_t last = min(row + maxRows, p.m) - 1;
  bool useful = p.aRow == 1 && row < p.m;
  return {p.a + last + block.firstTerm * p.aCol, p.aCol,
          useful ? block.terms : 0, 1};
}

template <int rows, typename T>
void stripTiles(const Block<T> &block, int64_t row) {
  packStrip<rows>(block, row);
  Prefetch<T> nextStrip = stripAfter(block, row + rows);
  const float *panel = block.panels;
  float *c = block.p.c + row * block.p.cRow + block.firstColumn;
  int64_t column = 0;
  for (; column + width <= block.columns; column += width) {
    nextStrip.lines(block.terms / block.tilesPerStrip() + 1);
    block.next.lines(block.linesPerTile());
    tile<rows>(block.strip, panel, block.terms, c + column, block.p.cRow,
               block.accumulates());
    panel += block.terms * width;
  }
  if (column < block.columns)
    narrowTile<rows>(block, panel, c + column, block.columns - column);
}

/// Rows from `row` on, at most `rows` at a time.
template <int rows, typename T>
void strips(const Block<T> &block, int64_t row) {
  if constexpr (rows > 0) {
    for (; row + rows <= block.p.m; row += rows)
      stripTiles<rows>(block, row);
    strips<rows - 1>(block, row);
  }
}

template <typename T> void multiply(const Block<T> &block) {
  float *panel = block.panels;
  for (int64_t column = 0; column < block.columns; column += width) {
    packPanel(block, column, panel);
    panel += block.terms * width;
  }
  strips<maxRows>(block, 0);
}

template <typename T> void multiplyBlocks(const PackedGemm<T> &p) {
  float *strip = p.workspace;
  float *spare = strip + maxTerms * lanes;
  float *panels = spare + width * maxRows;
  for (int64_t column = 0; column < p.n; column += maxColumns)
    for (int64_t term = 0; term < p.k; term += maxTerms) {
      int64_t terms = min(maxTerms, p.k - term);
      int64_t columns = min(maxColumns, p.n - column);
      int64_t after = term + terms, left = p.bCol == 1 ? p.k - after : 0;
      Prefetch<T> next(p.b + after * p.bRow + column, p.bRow,
                       min(maxTerms, left), columns);
      multiply<T>(
          {p, term, terms, column, columns, panels, strip, spare, next});
    }
}

} // namespace

void packedGemm(const PackedGemm<float> &product) { multiplyBlocks(product); }
void packedGemm(const PackedGemm<Bf16> &product) { multiplyBlocks(product); }

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE
