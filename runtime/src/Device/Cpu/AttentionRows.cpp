//===- AttentionRows.cpp - softmax on rows of scores ----------------------===//
//
// Compiled once for each instruction set level (STRETTO_ISA_NAMESPACE) and
// written in vectors of 16 floats, which the compiler splits where the level
// has shorter ones. No function of a standard header may be used here, as its
// copy for a newer processor could be linked into the rest.
//
//===----------------------------------------------------------------------===//

#include "AttentionRows.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

constexpr int64_t lanes = 16;

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint32_t Words __attribute__((vector_size(64)));
typedef uint32_t HalfWords __attribute__((vector_size(32)));
typedef uint64_t Longs __attribute__((vector_size(64))); // 8 lanes

constexpr Ints laneIndex = {0, 1, 2,  3,  4,  5,  6,  7,
                            8, 9, 10, 11, 12, 13, 14, 15};

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

/// The lanes of v, those `distance` apart exchanged.
template <int distance> inline Floats exchanged(Floats v) {
  return __builtin_shufflevector(
      v, v, 0 ^ distance, 1 ^ distance, 2 ^ distance, 3 ^ distance,
      4 ^ distance, 5 ^ distance, 6 ^ distance, 7 ^ distance, 8 ^ distance,
      9 ^ distance, 10 ^ distance, 11 ^ distance, 12 ^ distance, 13 ^ distance,
      14 ^ distance, 15 ^ distance);
}

inline float sumOf(Floats v) {
  v += exchanged<8>(v);
  v += exchanged<4>(v);
  v += exchanged<2>(v);
  v += exchanged<1>(v);
  return v[0];
}

inline Floats larger(Floats a, Floats b) { return select(a > b, a, b); }

/// The largest lane; lanes that are NaN may be passed over.
inline float maxOf(Floats v) {
  v = larger(v, exchanged<8>(v));
  v = larger(v, exchanged<4>(v));
  v = larger(v, exchanged<2>(v));
  v = larger(v, exchanged<1>(v));
  return v[0];
}

/// All bits in the lanes of columns before `valid`.
inline Ints validLanes(int64_t column, int64_t valid) {
  int64_t left = valid - column;
  return laneIndex < int32_t(left < lanes ? left : lanes);
}

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

/// What probabilities are multiplied with: keptScale or 0.
inline Floats dropoutFactors(const RowDropout &dropout, int64_t column) {
  constexpr Longs eight = {0, 1, 2, 3, 4, 5, 6, 7};
  Longs first = dropout.element + uint64_t(column) + eight;
  HalfWords low = __builtin_convertvector(
      philoxWord(dropout.key, first, dropout.opId), HalfWords);
  HalfWords high = __builtin_convertvector(
      philoxWord(dropout.key, first + 8, dropout.opId), HalfWords);
  Words words = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                        10, 11, 12, 13, 14, 15);
  Ints kept = (Ints)(words >> 8) >= int32_t(dropout.threshold);
  return select(kept, splat(dropout.keptScale), splat(0));
}

inline void zero(float *row, int64_t from, int64_t to) {
  for (int64_t j = from; j < to; j += lanes)
    store(row + j, splat(0));
}

inline float largest(const float *scores, int64_t valid, float scale) {
  const Floats lowest = splat(-__builtin_inff());
  Floats max = lowest;
  for (int64_t j = 0; j < valid; j += lanes) {
    Floats scaled =
        select(validLanes(j, valid), load(scores + j) * scale, lowest);
    max = larger(scaled, max);
  }
  return maxOf(max);
}

template <bool dropping>
float exponentiateRow(float *scores, int64_t valid, int64_t keys, float scale,
                      const RowDropout &dropout, float &maxOut) {
  float max = maxOut = largest(scores, valid, scale);
  Floats sum = splat(0);
  int64_t j = 0;
  for (; j < valid; j += lanes) {
    Floats power = exponential(load(scores + j) * scale - max);
    power = select(validLanes(j, valid), power, splat(0));
    sum += power;
    if (dropping)
      power *= dropoutFactors(dropout, j);
    store(scores + j, power);
  }
  zero(scores, j, keys);
  return sumOf(sum);
}

float exponentiate(float *scores, int64_t valid, int64_t keys, float scale,
                   const RowDropout &dropout, float &max) {
  auto run = dropout.active ? exponentiateRow<true> : exponentiateRow<false>;
  return run(scores, valid, keys, scale, dropout, max);
}

template <bool dropping>
void differentiateRow(float *scores, float *gradients, int64_t valid,
                      int64_t keys, float scale, float lse, float delta,
                      const RowDropout &dropout) {
  int64_t j = 0;
  for (; j < valid; j += lanes) {
    Ints inside = validLanes(j, valid);
    Floats p = exponential(load(scores + j) * scale - lse);
    Floats gradient = load(gradients + j), kept = p;
    if (dropping) {
      Floats factors = dropoutFactors(dropout, j);
      gradient *= factors;
      kept *= factors;
    }
    gradient = p * (gradient - delta) * scale;
    store(scores + j, select(inside, kept, splat(0)));
    store(gradients + j, select(inside, gradient, splat(0)));
  }
  zero(scores, j, keys);
  zero(gradients, j, keys);
}

void differentiate(float *scores, float *gradients, int64_t valid, int64_t keys,
                   float scale, float lse, float delta,
                   const RowDropout &dropout) {
  auto run = dropout.active ? differentiateRow<true> : differentiateRow<false>;
  run(scores, gradients, valid, keys, scale, lse, delta, dropout);
}

void scaleRow(float *row, int64_t count, float factor) {
  for (int64_t i = 0; i < count; ++i)
    row[i] *= factor;
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
  float total = sumOf(sum);
  for (; i < count; ++i)
    total += a[i] * b[i];
  return total;
}

constexpr AttentionRows rows = {exponentiate, differentiate, scaleRow, dot};

} // namespace

const AttentionRows &attentionRows() { return rows; }

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE
