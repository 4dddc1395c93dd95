#include "stretto/Runtime/SampleSource.h"

#include <algorithm>

namespace stretto::runtime {

Status Windows::read(uint64_t window, Sample &sample) const {
  uint64_t begin = firstToken + window * uint64_t(sequence);
  STRETTO_TRY(data->read(begin, sequence + 1, bound, sample.tokens.data()));
  std::copy(sample.tokens.begin() + 1, sample.tokens.end(),
            sample.labels.begin());
  std::fill(sample.mask.begin(), sample.mask.end(), 1.0f);
  return Status::ok();
}

static Status tooSmall(const char *split, uint64_t tokens, int64_t sequence,
                       const char *hint) {
  return failure(Code::Rejected, "the ", split, " split has ", tokens,
                 " tokens, one window of sequence length ", sequence, " needs ",
                 sequence + 1, hint);
}

Result<Splits> Splits::of(const DataSet &data, int64_t sequence,
                          double fraction, uint64_t vocabulary) {
  if (!(fraction >= 0 && fraction < 1))
    return failure(Code::Rejected, "held-out fraction ", fraction,
                   " is not in [0, 1)");
  uint64_t heldOut = heldOutTokens(data.tokens(), fraction);
  uint64_t train = data.tokens() - heldOut;
  Splits splits;
  splits.train = {&data, 0, windowCount(train, sequence), sequence, vocabulary};
  splits.heldOut = {&data, train, windowCount(heldOut, sequence), sequence,
                    vocabulary};
  if (splits.train.count == 0)
    return tooSmall("training", train, sequence, "; use more data");
  if (fraction > 0 && splits.heldOut.count == 0)
    return tooSmall("held-out", heldOut, sequence,
                    "; use more data, a larger eval fraction, or 0 for none");
  return splits;
}

namespace {

class Shuffled final : public SampleSource {
public:
  Shuffled(const Windows &windows, uint64_t seed)
      : windows(windows), order(windows.count, seed) {}
  Status read(uint64_t index, Sample &sample) const override {
    return windows.read(order.window(index), sample);
  }

private:
  Windows windows;
  SampleOrder order;
};

class Ordered final : public SampleSource {
public:
  explicit Ordered(const Windows &windows) : windows(windows) {}
  Status read(uint64_t index, Sample &sample) const override {
    if (index < windows.count)
      return windows.read(index, sample);
    std::fill(sample.tokens.begin(), sample.tokens.end(), 0);
    std::fill(sample.labels.begin(), sample.labels.end(), 0);
    std::fill(sample.mask.begin(), sample.mask.end(), 0.0f);
    return Status::ok();
  }

private:
  Windows windows;
};

} // namespace

std::unique_ptr<SampleSource> shuffledWindows(const Windows &windows,
                                              uint64_t seed) {
  return std::make_unique<Shuffled>(windows, seed);
}

std::unique_ptr<SampleSource> orderedWindows(const Windows &windows) {
  return std::make_unique<Ordered>(windows);
}

} // namespace stretto::runtime
