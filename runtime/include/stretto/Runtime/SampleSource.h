//===- SampleSource.h - samples by number -----------------------*- C++ -*-===//
//
// A source gives sample number i, the same one to every rank: shuffled windows
// of the training split, held-out windows in order, batches from a file, or a
// prompt. What a sample is does not depend on the plan.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SAMPLESOURCE_H
#define STRETTO_RUNTIME_SAMPLESOURCE_H

#include "stretto/Runtime/DataSet.h"
#include "stretto/Runtime/SampleOrder.h"
#include "stretto/Runtime/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stretto::runtime {

/// `sequence` tokens, their labels, and 1.0 where a label counts.
struct Sample {
  explicit Sample(int64_t sequence)
      : tokens(sequence + 1), labels(sequence), mask(sequence) {}
  std::vector<int32_t> tokens; ///< one more than a sample shows, for reading
  std::vector<int32_t> labels;
  std::vector<float> mask;
};

class SampleSource {
public:
  virtual ~SampleSource() = default;
  /// Fills `sample`; its length is the sequence length. Allocates nothing.
  virtual Status read(uint64_t index, Sample &sample) const = 0;
};

/// The windows of one split of a data set.
struct Windows {
  const DataSet *data = nullptr;
  uint64_t firstToken = 0;
  uint64_t count = 0; ///< windows
  int64_t sequence = 0;
  uint64_t bound = 0; ///< the model's vocabulary

  Status read(uint64_t window, Sample &sample) const;
};

/// Both splits of a data set, checked: the training split holds at least one
/// window, the held-out one at least one when `fraction` > 0.
struct Splits {
  Windows train, heldOut;
  static Result<Splits> of(const DataSet &data, int64_t sequence,
                           double fraction, uint64_t vocabulary);
};

/// Sample i is the i-th one since the start of training (see SampleOrder.h).
std::unique_ptr<SampleSource> shuffledWindows(const Windows &windows,
                                              uint64_t seed);

/// Sample i is window i; past the last one, samples in which nothing counts.
std::unique_ptr<SampleSource> orderedWindows(const Windows &windows);

/// Batches from a safetensors file: tokens and labels i32, mask f32, each
/// [steps, batch, sequence]. Sample i is sample i % batch of step i / batch.
Result<std::unique_ptr<SampleSource>> openBatches(const std::string &path,
                                                  int64_t batch,
                                                  int64_t sequence,
                                                  uint64_t vocabulary);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SAMPLESOURCE_H
