//===- AttentionSoftmax.cpp - softmax on blocks of scores -----------------===//
//
// Compiled once for each instruction set level (STRETTO_ISA_NAMESPACE) and
// written in vectors of 16 floats, which the compiler splits where the level
// has shorter ones. No function of a standard header may be used here, as its
// copy for a newer processor could be linked into the rest.
//
//===----------------------------------------------------------------------===//

#include "AttentionSoftmax.h"

#include <utility>

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

constexpr int64_t lanes = 16;

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint32_t HalfWords __attribute__((vector_size(32)));
typedef uint64_t Longs __attribute__((vector_size(64))); // 8 lanes

inline Floats splat(float x) { return x - Floats{}; }

inline Floats load(const float *from) {
  return *reinterpret_cast<const Floats *>(from);
}
inline void store(float *to, Floats value) {
  *reinterpret_cast<Floats *>(to) = value;
}

/// yes where all bits of the mask are set, no where none is.
inline Floats select(Ints mask, Floats yes, Floats no) {
  return (Floats)((mask & (Ints)yes) | (~mask & (Ints)no));
}

/// exp(x), relative error about 1e-7; 0 below -87.3 (no denormals), infinity
/// above 88.7, NaN for NaN. x = n ln 2 + r, |r| <= ln 2 / 2; the series of
/// exp(r) up to r^7 / 7! leaves 6e-9.
inline Floats exponential(Floats x) {
  constexpr float log2e = 1.44269504f;
  constexpr float ln2High = 0.693359375f, ln2Low = -2.12194440e-4f;
  constexpr float lowest = -87.3f, highest = 88.7f;
  constexpr float roundToInt = 12582912.0f; // 1.5 * 2^23
  Floats clamped = select(x < lowest, splat(lowest), x);
  clamped = select(clamped > highest, splat(highest), clamped);
  Floats shifted = clamped * log2e + roundToInt;
  Floats n = shifted - roundToInt;
  Floats r = clamped - n * ln2High;
  r = r - n * ln2Low;
  Floats series = r * (1.0f / 5040) + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  // The low bits of `shifted` hold n; 2^n goes into the exponent.
  Floats power = (Floats)(((Ints)shifted << 23) + (127 << 23));
  Floats result = series * power;
  result = select(x < lowest, splat(0), result);
  return select(x > highest, splat(__builtin_inff()), result);
}

inline Floats larger(Floats a, Floats b) { return select(a > b, a, b); }

/// Word 0 of Philox4x32-10 for eight counters (see Random.h), in the low half
/// of each lane.
inline Longs philoxWord(uint64_t key, Longs element, uint64_t opId) {
  constexpr uint64_t low = 0xffffffffu;
  Longs c0 = element & low, c1 = element >> 32;
  Longs c2 = Longs{} + (opId & low), c3 = Longs{} + (opId >> 32);
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    Longs p0 = c0 * uint64_t(0xD2511F53u), p1 = c2 * uint64_t(0xCD9E8D57u);
    Longs n0 = (p1 >> 32) ^ c1 ^ uint64_t(k0);
    Longs n2 = (p0 >> 32) ^ c3 ^ uint64_t(k1);
    c1 = p1 & low;
    c3 = p0 & low;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c0;
}

/// What probabilities of one key are multiplied with: keptScale or 0.
inline Floats dropoutFactors(const AttentionDropout &dropout, int64_t key) {
  constexpr Longs eight = {0, 1, 2, 3, 4, 5, 6, 7};
  Longs first = dropout.element + uint64_t(key) + eight * dropout.perQuery;
  HalfWords low = __builtin_convertvector(
      philoxWord(dropout.key, first, dropout.opId), HalfWords);
  HalfWords high = __builtin_convertvector(
      philoxWord(dropout.key, first + 8 * dropout.perQuery, dropout.opId),
      HalfWords);
  Words words = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                        10, 11, 12, 13, 14, 15);
  Ints kept = (Ints)(words >> 8) >= int32_t(dropout.threshold);
  return select(kept, splat(dropout.keptScale), splat(0));
}

/// Keys that all, and that any, of the 16 queries see.
struct Visibility {
  Ints visible;
  int64_t byAll, byAny;

  explicit Visibility(const AttentionColumns &c)
      : visible(*reinterpret_cast<const Ints *>(c.visible)), byAll(c.keys),
        byAny(0) {
    for (int64_t i = 0; i < queriesPerVector; ++i) {
      byAll = c.visible[i] < byAll ? c.visible[i] : byAll;
      byAny = c.visible[i] > byAny ? c.visible[i] : byAny;
    }
  }
  /// All bits in the lanes of queries that see the key.
  Ints lanesThatSee(int64_t key) const { return int32_t(key) < visible; }
};

inline void zero(float *column, int64_t stride, int64_t from, int64_t to) {
  for (int64_t j = from; j < to; ++j)
    store(column + j * stride, splat(0));
}

Floats largest(const AttentionColumns &c, const Visibility &keys) {
  const Floats lowest = splat(-__builtin_inff());
  Floats max = lowest;
  for (int64_t j = 0; j < keys.byAll; ++j)
    max = larger(load(c.scores + j * c.stride) * c.scale, max);
  for (int64_t j = keys.byAll; j < keys.byAny; ++j)
    max = larger(select(keys.lanesThatSee(j),
                        load(c.scores + j * c.stride) * c.scale, lowest),
                 max);
  return max;
}

template <bool dropping>
void exponentiate(const AttentionColumns &c, float *maxOut, float *sumOut) {
  const Visibility keys(c);
  Floats max = largest(c, keys), sum = splat(0);
  auto step = [&](int64_t j, bool masked) {
    float *at = c.scores + j * c.stride;
    Floats power = exponential(load(at) * c.scale - max);
    if (masked)
      power = select(keys.lanesThatSee(j), power, splat(0));
    sum += power;
    if (dropping)
      power *= dropoutFactors(c.dropout, j);
    store(at, power);
  };
  for (int64_t j = 0; j < keys.byAll; ++j)
    step(j, false);
  for (int64_t j = keys.byAll; j < keys.byAny; ++j)
    step(j, true);
  zero(c.scores, c.stride, keys.byAny, c.keys);
  store(maxOut, max);
  store(sumOut, sum);
}

template <bool dropping>
void differentiate(const AttentionColumns &c, float *gradients,
                   const float *lseIn, const float *deltaIn) {
  const Visibility keys(c);
  const Floats lse = load(lseIn), delta = load(deltaIn);
  auto step = [&](int64_t j, bool masked) {
    float *at = c.scores + j * c.stride, *other = gradients + j * c.stride;
    Floats p = exponential(load(at) * c.scale - lse);
    Floats gradient = load(other), kept = p;
    if (dropping) {
      Floats factors = dropoutFactors(c.dropout, j);
      gradient *= factors;
      kept *= factors;
    }
    gradient = p * (gradient - delta) * c.scale;
    if (masked) {
      gradient = select(keys.lanesThatSee(j), gradient, splat(0));
      kept = select(keys.lanesThatSee(j), kept, splat(0));
    }
    store(at, kept);
    store(other, gradient);
  };
  for (int64_t j = 0; j < keys.byAll; ++j)
    step(j, false);
  for (int64_t j = keys.byAll; j < keys.byAny; ++j)
    step(j, true);
  zero(c.scores, c.stride, keys.byAny, c.keys);
  zero(gradients, c.stride, keys.byAny, c.keys);
}

void chooseExponentiate(const AttentionColumns &c, float *max, float *sum) {
  c.dropout.active ? exponentiate<true>(c, max, sum)
                   : exponentiate<false>(c, max, sum);
}

void chooseDifferentiate(const AttentionColumns &c, float *gradients,
                         const float *lse, const float *delta) {
  c.dropout.active ? differentiate<true>(c, gradients, lse, delta)
                   : differentiate<false>(c, gradients, lse, delta);
}

/// Lanes where bit `step` is set change places with those of the other vector
/// where it is not.
template <int step, int... lane>
inline void exchange(Floats &a, Floats &b,
                     std::integer_sequence<int, lane...>) {
  Floats first = __builtin_shufflevector(
      a, b, (lane & step ? int(lanes) + lane - step : lane)...);
  b = __builtin_shufflevector(
      a, b, (lane & step ? int(lanes) + lane : lane + step)...);
  a = first;
}
/// One stage of the transpose (Eklundh): swaps blocks of step x step that lie
/// across the diagonal.
template <int step> inline void exchangeRows(Floats (&rows)[lanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i)
    if (!(i & step))
      exchange<step>(rows[i], rows[i + step],
                     std::make_integer_sequence<int, lanes>());
}
void transposeSquare(const float *from, int64_t fromStride, float *to,
                     int64_t toStride) {
  Floats rows[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) // need not start at a multiple of 64 bytes
    __builtin_memcpy(&rows[i], from + i * fromStride, sizeof(Floats));
  exchangeRows<8>(rows);
  exchangeRows<4>(rows);
  exchangeRows<2>(rows);
  exchangeRows<1>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i)
    store(to + i * toStride, rows[i]);
}

void transpose(const float *from, int64_t fromStride, int64_t rows,
               int64_t columns, float *to, int64_t toStride) {
  for (int64_t row = 0; row < rows; row += lanes) {
    int64_t valid = rows - row < lanes ? rows - row : lanes;
    const float *source = from + row * fromStride;
    int64_t column = 0;
    for (; valid == lanes && column + lanes <= columns; column += lanes)
      transposeSquare(source + column, fromStride, to + column * toStride + row,
                      toStride);
    for (; column < columns; ++column) {
      Floats gathered = splat(0);
      for (int64_t i = 0; i < valid; ++i)
        gathered[i] = source[i * fromStride + column];
      store(to + column * toStride + row, gathered);
    }
  }
}

float dot(const float *a, const float *b, int64_t count) {
  Floats sum = splat(0);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Floats x, y; // rows of tensors need not start at multiples of 64 bytes
    __builtin_memcpy(&x, a + i, sizeof(x));
    __builtin_memcpy(&y, b + i, sizeof(y));
    sum += x * y;
  }
  float total = 0;
  for (int64_t lane = 0; lane < lanes; ++lane)
    total += sum[lane];
  for (; i < count; ++i)
    total += a[i] * b[i];
  return total;
}

void widenRows(const Bf16 *from, int64_t fromStride, int64_t rows,
               int64_t columns, float *to) {
  for (int64_t i = 0; i < rows; ++i, from += fromStride, to += columns)
    for (int64_t j = 0; j < columns; ++j)
      to[j] = widen(from[j]);
}

void narrowRows(const float *from, int64_t rows, int64_t columns, Bf16 *to,
                int64_t toStride) {
  for (int64_t i = 0; i < rows; ++i, from += columns, to += toStride)
    for (int64_t j = 0; j < columns; ++j)
      to[j] = narrow(from[j]);
}

typedef uint16_t Halves __attribute__((vector_size(32)));

float dotBf16(const Bf16 *a, const Bf16 *b, int64_t count) {
  auto load = [](const Bf16 *from) {
    Halves halves;
    __builtin_memcpy(&halves, from, sizeof(halves));
    return (Floats)(__builtin_convertvector(halves, Words) << 16);
  };
  Floats sum = splat(0);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    sum += load(a + i) * load(b + i);
  float total = 0;
  for (int64_t lane = 0; lane < lanes; ++lane)
    total += sum[lane];
  for (; i < count; ++i)
    total += widen(a[i]) * widen(b[i]);
  return total;
}

/// As runtime::narrow; the bits below are 0.
inline Words rounded(Floats value) {
  Words bits = (Words)value;
  Words near = bits + 0x7fffu + ((bits >> 16) & 1u);
  Words isNaN = (Words)(value != value);
  return ((isNaN & (bits | 0x400000u)) | (~isNaN & near)) & 0xffff0000u;
}

void pairColumns(const float *from, int64_t stride, int64_t rows,
                 int64_t columns, Bf16Pair *to, int64_t toStride) {
  for (int64_t row = 0; row < rows; ++row, from += stride, to += toStride)
    for (int64_t j = 0; j < columns; j += lanes) {
      Halves halves =
          __builtin_convertvector(rounded(load(from + j)) >> 16, Halves);
      __builtin_memcpy(to + j / 2, &halves, sizeof(halves));
    }
}

void pairRows(const float *from, int64_t stride, int64_t rows, int64_t columns,
              Bf16Pair *to, int64_t toStride) {
  for (int64_t row = 0; row < rows; row += 2, to += toStride)
    for (int64_t j = 0; j < columns; j += lanes) {
      const float *low = from + row * stride + j;
      Words pairs = rounded(load(low)) >> 16;
      if (row + 1 < rows)
        pairs |= rounded(load(low + stride));
      __builtin_memcpy(to + j, &pairs, sizeof(pairs));
    }
}

void pairRowsBf16(const Bf16 *from, int64_t stride, int64_t rows,
                  int64_t columns, Bf16Pair *to) {
  for (int64_t row = 0; row + 1 < rows; row += 2, to += columns)
    for (int64_t j = 0; j < columns; ++j)
      to[j] = Bf16Pair(from[row * stride + j].bits |
                       uint32_t(from[(row + 1) * stride + j].bits) << 16);
  for (int64_t j = 0; rows % 2 != 0 && j < columns; ++j)
    to[j] = Bf16Pair(from[(rows - 1) * stride + j].bits);
}

constexpr AttentionSoftmax functions = {chooseExponentiate,
                                        chooseDifferentiate,
                                        transpose,
                                        dot,
                                        dotBf16,
                                        widenRows,
                                        narrowRows,
                                        pairColumns,
                                        pairRows,
                                        pairRowsBf16};

} // namespace

const AttentionSoftmax &attentionSoftmax() { return functions; }

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE
