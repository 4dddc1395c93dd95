#include "stretto/Runtime/Safetensors.h"
#include "stretto/Runtime/SampleSource.h"

#include <cmath>
#include <cstring>

namespace stretto::runtime {
namespace {

class Batches final : public SampleSource {
public:
  Batches(SafetensorsFile file, int64_t sequence, uint64_t vocabulary)
      : file(std::move(file)), sequence(sequence), vocabulary(vocabulary) {}

  /// [steps, batch, sequence] of the named tensor, or an error.
  Status bind(const char *name, const char *dtype, int64_t batch,
              const uint8_t *&data) {
    const TensorEntry *entry = file.find(name);
    if (!entry)
      return failure(Code::Rejected, file.path(), ": no tensor '", name, "'");
    if (entry->dtype != dtype || entry->shape.size() != 3 ||
        entry->shape[1] != batch || entry->shape[2] != sequence)
      return failure(Code::Rejected, file.path(), ": '", name, "' must be ",
                     dtype, " [steps, ", batch, ", ", sequence, "]");
    uint64_t count = entry->shape[0] * batch;
    if (samples != 0 && count != samples)
      return failure(Code::Rejected, file.path(), ": '", name, "' has ",
                     entry->shape[0], " steps, others have ", samples / batch);
    samples = count;
    data = file.data(*entry).data;
    return Status::ok();
  }

  Status bindAll(int64_t batch) {
    STRETTO_TRY(bind("tokens", "I32", batch, tokens));
    STRETTO_TRY(bind("labels", "I32", batch, labels));
    return bind("mask", "F32", batch, mask);
  }

  Status read(uint64_t index, Sample &sample) const override {
    if (index >= samples)
      return failure(Code::Rejected, file.path(), ": ends after ", samples,
                     " samples, sample ", index, " is wanted");
    size_t row = sequence * 4;
    std::memcpy(sample.tokens.data(), tokens + index * row, row);
    std::memcpy(sample.labels.data(), labels + index * row, row);
    std::memcpy(sample.mask.data(), mask + index * row, row);
    for (int64_t i = 0; i < sequence; ++i)
      for (int32_t token : {sample.tokens[i], sample.labels[i]})
        if (token < 0 || uint64_t(token) >= vocabulary)
          return failure(Code::Rejected, file.path(), ": token ", token,
                         " of sample ", index, " at position ", i,
                         " is not in the vocabulary of ", vocabulary);
    for (int64_t i = 0; i < sequence; ++i)
      if (!std::isfinite(sample.mask[i]))
        return failure(Code::Rejected, file.path(), ": the mask of sample ",
                       index, " at position ", i, " is ", sample.mask[i]);
    return Status::ok();
  }

private:
  SafetensorsFile file;
  int64_t sequence;
  uint64_t vocabulary, samples = 0;
  const uint8_t *tokens = nullptr, *labels = nullptr, *mask = nullptr;
};

} // namespace

Result<std::unique_ptr<SampleSource>> openBatches(const std::string &path,
                                                  int64_t batch,
                                                  int64_t sequence,
                                                  uint64_t vocabulary) {
  STRETTO_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  auto batches =
      std::make_unique<Batches>(std::move(file), sequence, vocabulary);
  STRETTO_TRY(batches->bindAll(batch));
  return std::unique_ptr<SampleSource>(std::move(batches));
}

} // namespace stretto::runtime
