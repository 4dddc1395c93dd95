//===- PackedLoops.h - the loops of large matrix products -------*- C++ -*-===//
//
// The usual blocking (Goto, van de Geijn: Anatomy of High-Performance Matrix
// Multiplication, 2008), with B in the second-level cache: a block of B of 256
// steps is packed into panels as wide as a tile of C; then, for one strip of
// rows of A after the other, packed in the first-level cache, every panel gives
// one tile, kept in registers over the 256 steps. Packing makes what the tiles
// read contiguous and pays once per block; where the operand's own lines are
// contiguous (A transposed, B not) it moves whole vectors.
//
// Included by sources that are compiled for one instruction set level each; all
// here is theirs alone. No function of a standard header may be used (see
// stretto_isa_sources).
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_PACKEDLOOPS_H
#define STRETTO_RUNTIME_DEVICE_CPU_PACKEDLOOPS_H

#include "PackedGemm.h"
#include "VectorLoops.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

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
constexpr int64_t tileWidth = vectors * lanes;
constexpr int64_t maxSteps = 256;    // of a block
constexpr int64_t maxColumns = 1024; // of a block of B: 1 MiB
static_assert(maxColumns % tileWidth == 0 &&
                  maxSteps * (maxColumns + lanes) + tileWidth * maxRows <=
                      packedGemmWorkspace,
              "the workspace holds a block, a strip and a tile");

inline void store(Bf16Pair *to, Words value) {
  *reinterpret_cast<Words *>(to) = value;
}

/// For the step of a sum: `pack` reads one row of B or column of A, or 16 that
/// are neighbours; `next` is the distance to the second term, or 0 where there
/// is none.
template <typename T> inline void pack(float *to, const T *from, int64_t) {
  *to = widen(*from);
}
inline void pack(Bf16Pair *to, const Bf16 *from, int64_t next) {
  *to = Bf16Pair(from->bits | (next ? uint32_t(from[next].bits) << 16 : 0));
}

inline void packVector(float *to, const float *from, int64_t) {
  store(to, load(from));
}
inline Words zeroExtended(const Bf16 *from) {
  return __builtin_convertvector(*reinterpret_cast<const Halves *>(from),
                                 Words);
}
inline void packVector(float *to, const Bf16 *from, int64_t) {
  store(to, (Floats)(zeroExtended(from) << 16));
}
inline void packVector(Bf16Pair *to, const Bf16 *from, int64_t next) {
  Words low = zeroExtended(from);
  store(to, next ? low | zeroExtended(from + next) << 16 : low);
}

/// `count` neighbours, fewer than a vector has.
template <int count>
inline void packRun(float *to, const float *from, int64_t) {
  __builtin_memcpy(to, from, count * sizeof(float));
}
template <int count, typename Step>
inline void packRun(Step *to, const Bf16 *from, int64_t next) {
  STRETTO_UNROLL
  for (int i = 0; i < count; ++i)
    pack(to + i, from + i, next);
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
template <typename T, typename Step> struct Block {
  const PackedGemm<T> &p;
  int64_t firstTerm, terms;
  int64_t firstColumn, columns;
  Step *panels, *strip;
  float *spare;
  Prefetch<T> &next; ///< block of B

  static constexpr int64_t width = termsPerStep<Step>; ///< of a step, in terms
  int64_t steps() const { return (terms + width - 1) / width; }
  /// The second term of a step is so far from the first.
  int64_t second(int64_t step, int64_t stride) const {
    return width * step + 1 < terms ? stride : 0;
  }
  int64_t tilesPerStrip() const { return columns / tileWidth + 1; }
  int64_t linesPerTile() const {
    int64_t lines = maxSteps * columns / lanes;
    return lines / tilesPerStrip() / (p.m / maxRows + 1) + 1;
  }

  bool accumulates() const { return p.accumulate || firstTerm > 0; }
};

/// panel[l * width + j] = b[l, column + j], zero beyond the last column.
template <typename T, typename Step>
void packPanel(const Block<T, Step> &block, int64_t column, Step *panel) {
  const PackedGemm<T> &p = block.p;
  const T *from =
      p.b + block.firstTerm * p.bRow + (block.firstColumn + column) * p.bCol;
  int64_t valid = min(tileWidth, block.columns - column);
  bool isWhole = valid == tileWidth && p.bCol == 1;
  for (int64_t l = 0; l < block.steps(); ++l) {
    int64_t next = block.second(l, p.bRow);
    if (isWhole) {
      STRETTO_UNROLL
      for (int v = 0; v < vectors; ++v)
        packVector(panel + v * lanes, from + v * lanes, next);
    } else {
      for (int64_t j = 0; j < tileWidth; ++j)
        if (j < valid)
          pack(panel + j, from + j * p.bCol, next);
        else
          panel[j] = Step();
    }
    from += block.width * p.bRow;
    panel += tileWidth;
  }
}

/// strip[l * rows + i] = a[row + i, l].
template <int rows, typename T, typename Step>
void packStrip(const Block<T, Step> &block, int64_t row) {
  const PackedGemm<T> &p = block.p;
  const T *from = p.a + row * p.aRow + block.firstTerm * p.aCol;
  Step *strip = block.strip;
  for (int64_t l = 0; l < block.steps(); ++l) {
    int64_t next = block.second(l, p.aCol);
    if (p.aRow == 1) {
      packRun<rows>(strip, from, next);
    } else {
      STRETTO_UNROLL
      for (int i = 0; i < rows; ++i)
        pack(strip + i, from + i * p.aRow, next);
    }
    from += block.width * p.aCol;
    strip += rows;
  }
}

template <int rows, typename Step>
void tile(const Step *a, const Step *b, int64_t steps, float *c, int64_t cRow,
          bool accumulate) {
  Floats sum[rows][vectors] = {};
  for (int64_t l = 0; l < steps; ++l, a += rows, b += tileWidth) {
    decltype(load(b)) right[vectors];
    STRETTO_UNROLL
    for (int v = 0; v < vectors; ++v)
      right[v] = load(b + v * lanes);
    STRETTO_UNROLL
    for (int i = 0; i < rows; ++i) {
      STRETTO_UNROLL
      for (int v = 0; v < vectors; ++v)
        multiplyAdd(sum[i][v], a[i], right[v]);
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
template <int rows, typename T, typename Step>
void narrowTile(const Block<T, Step> &block, const Step *panel, float *c,
                int64_t columns) {
  tile<rows>(block.strip, panel, block.steps(), block.spare, tileWidth, false);
  for (int i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = block.spare[i * tileWidth + j];
      float &target = c[i * block.p.cRow + j];
      target = block.accumulates() ? target + sum : sum;
    }
}

/// The last line that each term of the strip at `row` has: the first one is
/// often that of the strip before.
template <typename T, typename Step>
Prefetch<T> stripAfter(const Block<T, Step> &block, int64_t row) {
  const PackedGemm<T> &p = block.p;
  int64_t last = min(row + maxRows, p.m) - 1;
  bool useful = p.aRow == 1 && row < p.m;
  return {p.a + last + block.firstTerm * p.aCol, p.aCol,
          useful ? block.terms : 0, 1};
}

template <int rows, typename T, typename Step>
void stripTiles(const Block<T, Step> &block, int64_t row) {
  packStrip<rows>(block, row);
  Prefetch<T> nextStrip = stripAfter(block, row + rows);
  const Step *panel = block.panels;
  float *c = block.p.c + row * block.p.cRow + block.firstColumn;
  int64_t column = 0;
  for (; column + tileWidth <= block.columns; column += tileWidth) {
    nextStrip.lines(block.terms / block.tilesPerStrip() + 1);
    block.next.lines(block.linesPerTile());
    tile<rows>(block.strip, panel, block.steps(), c + column, block.p.cRow,
               block.accumulates());
    panel += block.steps() * tileWidth;
  }
  if (column < block.columns)
    narrowTile<rows>(block, panel, c + column, block.columns - column);
}

/// Rows from `row` on, at most `rows` at a time.
template <int rows, typename T, typename Step>
void strips(const Block<T, Step> &block, int64_t row) {
  if constexpr (rows > 0) {
    for (; row + rows <= block.p.m; row += rows)
      stripTiles<rows>(block, row);
    strips<rows - 1>(block, row);
  }
}

template <typename T, typename Step>
void multiply(const Block<T, Step> &block) {
  Step *panel = block.panels;
  for (int64_t column = 0; column < block.columns; column += tileWidth) {
    packPanel(block, column, panel);
    panel += block.steps() * tileWidth;
  }
  strips<maxRows>(block, 0);
}

template <typename Step, typename T>
void multiplyBlocks(const PackedGemm<T> &p) {
  constexpr int64_t maxTerms = maxSteps * termsPerStep<Step>;
  static_assert(sizeof(Step) == sizeof(float), "both are words");
  Step *strip = reinterpret_cast<Step *>(p.workspace);
  float *spare = p.workspace + maxSteps * lanes;
  Step *panels = reinterpret_cast<Step *>(spare + tileWidth * maxRows);
  for (int64_t column = 0; column < p.n; column += maxColumns)
    for (int64_t term = 0; term < p.k; term += maxTerms) {
      int64_t terms = min(maxTerms, p.k - term);
      int64_t columns = min(maxColumns, p.n - column);
      int64_t after = term + terms, left = p.bCol == 1 ? p.k - after : 0;
      Prefetch<T> next(p.b + after * p.bRow + column, p.bRow,
                       min(maxTerms, left), columns);
      multiply<T, Step>(
          {p, term, terms, column, columns, panels, strip, spare, next});
    }
}

} // namespace

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE

#endif // STRETTO_RUNTIME_DEVICE_CPU_PACKEDLOOPS_H
