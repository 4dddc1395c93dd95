//===- TinyProgram.h - a Program made by hand ---------------------*- C++
//-*-===//
//
// The smallest "model" that trains without a compiled kernel: one parameter w.
// With c the number of counted tokens of the global batch, the gradient is c*w,
// the update w += lr * gradient, so after T steps w is w0 * prod(1 + lr_t *
// c_t). loss = count = c, grad_norm = sum of squares of the gradient, logits =
// w at every position. Batch is sharded on dp and split in micro-batches, w on
// tp, both padded where they do not divide.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_TRAIN_TINYPROGRAM_H
#define STRETTO_TEST_UNIT_TRAIN_TINYPROGRAM_H

#include <cstdint>
#include <string>

namespace stretto::test {

struct TinyProgram {
  int64_t dp = 1, tp = 1, microbatches = 1;
  int64_t batch = 6, sequence = 4, width = 5;
  int64_t steps = 6, evalEvery = 0;
  double lr = 0.001, evalFraction = 0;
  int64_t warmup = 2;
  std::string nonfinite = "stop";

  /// A serialized Program.
  std::string build() const;
};

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_TRAIN_TINYPROGRAM_H
