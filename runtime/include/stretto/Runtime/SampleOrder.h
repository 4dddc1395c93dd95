//===- SampleOrder.h - which tokens form which sample -----------*- C++ -*-===//
//
// Sample i of step t is a pure function of (seed, t, i) and the data set: the
// training tokens are cut into windows of sequence + 1 tokens at stride
// sequence; each epoch visits every window once, in an order of its own. The
// cursor of a checkpoint is therefore just the number of samples consumed.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SAMPLEORDER_H
#define STRETTO_RUNTIME_SAMPLEORDER_H

#include "stretto/Runtime/Permutation.h"

#include <cstdint>

namespace stretto::runtime {

/// Windows of sequence + 1 tokens at stride `sequence` in `tokens` tokens.
inline uint64_t windowCount(uint64_t tokens, uint64_t sequence) {
  return tokens == 0 ? 0 : (tokens - 1) / sequence;
}

class SampleOrder {
public:
  /// `windows` >= 1.
  SampleOrder(uint64_t windows, uint64_t seed) : windows(windows), seed(seed) {}

  /// The window of the `cursor`-th sample since the start of training; sample i
  /// of step t (counted from 1) with global batch B has cursor (t-1)*B + i.
  uint64_t window(uint64_t cursor) const {
    uint64_t epoch = cursor / windows;
    constexpr uint64_t data = 0x64617461; // "data"
    return Permutation(windows,
                       random::key(seed, epoch, data))(cursor % windows);
  }

private:
  uint64_t windows, seed;
};

/// The held-out split is the last `fraction` of the tokens, rounded down.
inline uint64_t heldOutTokens(uint64_t tokens, double fraction) {
  return fraction > 0 ? uint64_t(double(tokens) * fraction) : 0;
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SAMPLEORDER_H
