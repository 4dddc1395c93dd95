//===- Feed.h - from samples to the inputs of a rank ------------*- C++ -*-===//
//
// Fills the part of every input that a rank holds. The global batch is split in
// order: micro-batch k holds samples [k*B/M, (k+1)*B/M), each then sharded as
// the input's dimensions say.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_FEED_H
#define STRETTO_RUNTIME_FEED_H

#include "stretto/Runtime/Executor.h"
#include "stretto/Runtime/SampleSource.h"

#include <array>
#include <vector>

namespace stretto::runtime {

/// The inputs of one function on one rank. Inputs named tokens, labels and mask
/// are [batch of a micro-batch, sequence]; "$hyper" is f32[4].
class Feed {
public:
  /// Checks that every input can be supplied.
  static Result<Feed> of(const std::vector<TensorView> &inputs);

  /// Samples of the global batch, all micro-batches together.
  int64_t batch() const { return samples; }
  int64_t sequence() const { return length; }

  /// Writes samples first, first+1, ... of `source`, and `hyper`. Padding
  /// becomes zero. Allocates nothing.
  Status fill(const SampleSource &source, uint64_t first,
              const std::array<float, 4> &hyper);

private:
  Status fillRows(const TensorView &view, const SampleSource &source,
                  uint64_t first);

  std::vector<TensorView> views;
  Sample sample{0};
  int64_t samples = 0, length = 0;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_FEED_H
