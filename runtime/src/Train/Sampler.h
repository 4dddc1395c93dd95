//===- Sampler.h - text from a model ----------------------------*- C++ -*-===//
//
// Generates tokens one at a time through the function "predict": the last
// tokens that fit the sequence go in as sample 0, the logits of the last of
// them come out. Draws are counter-based, so that every plan writes the same
// text up to rounding.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_SAMPLER_H
#define STRETTO_RUNTIME_SRC_TRAIN_SAMPLER_H

#include "stretto/Runtime/Executor.h"

#include <string>
#include <vector>

namespace stretto::runtime {

/// The index drawn from softmax(logits / temperature) at `uniform` in [0, 1);
/// the largest logit when temperature is 0.
int64_t drawToken(const std::vector<float> &logits, double temperature,
                  double uniform);

/// Whether the program can continue this prompt.
Status checkSampling(const Program &program, const std::string &prompt);

/// Collective; every rank gets the `count` tokens that follow `prompt` (bytes).
Result<std::vector<int32_t>> generate(World &world, Executor &executor,
                                      const std::string &prompt, int64_t count,
                                      double temperature);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_SAMPLER_H
