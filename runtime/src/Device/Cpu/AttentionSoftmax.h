//===- AttentionSoftmax.h - softmax on blocks of scores ---------*- C++ -*-===//
//
// The part of attention between the matrix products, vectorised over queries:
// scores lie as [key, query], so that 16 queries are one vector and sums over
// keys need no shuffles.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONSOFTMAX_H
#define STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONSOFTMAX_H

#include "TileGemm.h"

#include "stretto/Runtime/Bf16.h"

namespace stretto::runtime {

constexpr int64_t queriesPerVector = 16;

/// Which probabilities are dropped: counters of Random.h.
struct AttentionDropout {
  bool active = false;
  uint64_t key = 0, opId = 0;
  uint64_t element = 0;   ///< counter of (query 0, key 0) of the vector
  uint64_t perQuery = 0;  ///< what the next query adds
  uint32_t threshold = 0; ///< kept when its 24 bits are at least this
  float keptScale = 1;
};

/// Scores of 16 queries: scores[key * stride + query]; 64-byte aligned, stride
/// a multiple of 16. Query i sees keys before visible[i]. What is not seen may
/// hold anything and becomes 0 in all rows before `keys`.
struct AttentionColumns {
  float *scores;
  int64_t stride, keys;
  alignas(64) int32_t visible[queriesPerVector];
  float scale;
  AttentionDropout dropout;
};

struct AttentionSoftmax {
  /// scores become exp(scale * scores - max), dropped or scaled by the dropout;
  /// max and sum (of the exponentials before dropout) receive one value for
  /// each query. NaN in the scores gives NaN.
  void (*exponentiate)(const AttentionColumns &columns, float *max, float *sum);

  /// With p = exp(scale * scores - lse) and the dropout factor m: `gradients`
  /// (laid out as the scores) becomes p * (m * gradients - delta) * scale, and
  /// scores p * m. lse and delta hold one value for each query.
  void (*differentiate)(const AttentionColumns &columns, float *gradients,
                        const float *lse, const float *delta);

  /// to[column * toStride + row] = from[row * fromStride + column], for up to
  /// `rows` rows; further rows up to a multiple of 16 become 0.
  void (*transpose)(const float *from, int64_t fromStride, int64_t rows,
                    int64_t columns, float *to, int64_t toStride);

  float (*dot)(const float *a, const float *b, int64_t count);
  float (*dotBf16)(const Bf16 *a, const Bf16 *b, int64_t count);

  /// Rows of bf16 to dense rows of f32, and back.
  void (*widenRows)(const Bf16 *from, int64_t fromStride, int64_t rows,
                    int64_t columns, float *to);
  void (*narrowRows)(const float *from, int64_t rows, int64_t columns, Bf16 *to,
                     int64_t toStride);

  // Pairs of neighbouring numbers, rounded to bf16; may be in place. Columns
  // are a multiple of 16, strides count words of 4 bytes.
  /// to[row * toStride + j] = (from[row, 2 j], from[row, 2 j + 1]).
  void (*pairColumns)(const float *from, int64_t stride, int64_t rows,
                      int64_t columns, Bf16Pair *to, int64_t toStride);
  /// to[i * toStride + column] = (from[2 i, column], from[2 i + 1, column]),
  /// with 0 after the last row.
  void (*pairRows)(const float *from, int64_t stride, int64_t rows,
                   int64_t columns, Bf16Pair *to, int64_t toStride);
  /// The same of bf16, any columns, dense rows of pairs.
  void (*pairRowsBf16)(const Bf16 *from, int64_t stride, int64_t rows,
                       int64_t columns, Bf16Pair *to);
};

/// Of the best instruction set level of the host.
const AttentionSoftmax &attentionSoftmax();

namespace x86v1 {
const AttentionSoftmax &attentionSoftmax();
}
namespace x86v3 {
const AttentionSoftmax &attentionSoftmax();
}
namespace x86v4 {
const AttentionSoftmax &attentionSoftmax();
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONSOFTMAX_H
