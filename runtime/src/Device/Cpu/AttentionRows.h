//===- AttentionRows.h - softmax on rows of scores --------------*- C++ -*-===//
//
// The part of attention between the matrix products, vectorised. Rows start at
// multiples of 64 bytes and are padded to whole vectors of 16.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONROWS_H
#define STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONROWS_H

#include <cstdint>

namespace stretto::runtime {

/// Which probabilities of a row are dropped: counters of Random.h from
/// `element` on.
struct RowDropout {
  bool active = false;
  uint64_t key = 0, opId = 0;
  uint64_t element = 0;   ///< counter of column 0
  uint32_t threshold = 0; ///< kept when its 24 bits are at least this
  float keptScale = 1;
};

struct AttentionRows {
  /// scores[j] becomes exp(scale * scores[j] - max) for j < valid, dropped or
  /// scaled by the dropout, and 0 for the others up to `keys`. Returns the sum
  /// of the exponentials before dropout; `max` receives the largest
  /// scale * scores[j]. NaN in the scores gives NaN.
  float (*exponentiate)(float *scores, int64_t valid, int64_t keys, float scale,
                        const RowDropout &dropout, float &max);

  /// With p = exp(scale * scores - lse) and the dropout mask m:
  /// gradients becomes p * (m * gradients - delta) * scale, scores p * m; both
  /// 0 from `valid` up to `keys`.
  void (*differentiate)(float *scores, float *gradients, int64_t valid,
                        int64_t keys, float scale, float lse, float delta,
                        const RowDropout &dropout);

  void (*scaleRow)(float *row, int64_t count, float factor);
  float (*dot)(const float *a, const float *b, int64_t count);
};

/// Of the best instruction set level of the host.
const AttentionRows &attentionRows();

namespace x86v1 {
const AttentionRows &attentionRows();
}
namespace x86v3 {
const AttentionRows &attentionRows();
}
namespace x86v4 {
const AttentionRows &attentionRows();
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONROWS_H
