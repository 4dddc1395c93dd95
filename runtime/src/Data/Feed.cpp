#include "stretto/Runtime/Feed.h"

#include <cstring>

namespace stretto::runtime {

static bool isRows(const TensorView &view) {
  return view.name == "tokens" || view.name == "labels" || view.name == "mask";
}

static Status checkRows(const TensorView &view) {
  bool ids = view.name != "mask" && (view.dtype == program::DType::I32 ||
                                     view.dtype == program::DType::I64);
  bool weights = view.name == "mask" && view.dtype == program::DType::F32;
  if ((!ids && !weights) || view.logicalShape.size() != 2)
    return failure(Code::Rejected, "input '", view.name, "' is ",
                   program::EnumNameDType(view.dtype), " of rank ",
                   view.logicalShape.size(),
                   "; tokens and labels must be integers and mask F32, each "
                   "[batch, seq]");
  if (uint64_t(view.box.localElements() * bytesOf(view.dtype)) > view.bytes)
    return failure(Code::Rejected, "input '", view.name, "' has slots of ",
                   view.bytes, " bytes, its box needs ",
                   view.box.localElements() * bytesOf(view.dtype));
  return Status::ok();
}

Result<Feed> Feed::of(const std::vector<TensorView> &inputs) {
  Feed feed;
  feed.views = inputs;
  for (const TensorView &view : inputs) {
    if (view.name == "$hyper") {
      if (view.dtype != program::DType::F32 || view.bytes < 4 * sizeof(float))
        return failure(Code::Rejected, "input '$hyper' is not f32[4]");
      continue;
    }
    if (!isRows(view))
      return failure(Code::Rejected, "input '", view.name,
                     "' is not one that data supplies: tokens, labels, mask");
    STRETTO_TRY(checkRows(view));
    int64_t batch = view.logicalShape[0] * int64_t(view.slots.size());
    if (feed.samples != 0 &&
        (batch != feed.samples || view.logicalShape[1] != feed.length))
      return failure(Code::Rejected, "input '", view.name, "' holds ", batch,
                     " x ", view.logicalShape[1], ", other inputs ",
                     feed.samples, " x ", feed.length);
    feed.samples = batch;
    feed.length = view.logicalShape[1];
  }
  feed.sample = Sample(feed.length);
  return feed;
}

/// Elements [from, from + count) of the sample as the input wants them.
static void writeRow(const TensorView &view, const Sample &sample, int64_t from,
                     int64_t count, char *target) {
  if (view.name == "mask") {
    std::memcpy(target, sample.mask.data() + from, count * sizeof(float));
    return;
  }
  const int32_t *ids =
      (view.name == "tokens" ? sample.tokens : sample.labels).data() + from;
  if (view.dtype == program::DType::I32) {
    std::memcpy(target, ids, count * sizeof(int32_t));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t wide = ids[i];
    std::memcpy(target + i * sizeof(wide), &wide, sizeof(wide));
  }
}

Status Feed::fillRows(const TensorView &view, const SampleSource &source,
                      uint64_t first) {
  const BoxDim &rows = view.box.dims[0], &columns = view.box.dims[1];
  bool padded = view.box.ownedElements() != view.box.localElements();
  for (size_t slot = 0; slot < view.slots.size(); ++slot) {
    char *target = view.data<char>(slot);
    if (padded)
      std::memset(target, 0, view.bytes);
    if (columns.owned() == 0)
      continue;
    uint64_t base = first + slot * view.logicalShape[0];
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      STRETTO_TRY(source.read(base + row, sample));
      int64_t local = (row - rows.begin) * columns.extent;
      writeRow(view, sample, columns.begin, columns.owned(),
               target + local * bytesOf(view.dtype));
    }
  }
  return Status::ok();
}

Status Feed::fill(const SampleSource &source, uint64_t first,
                  const std::array<float, 4> &hyper) {
  for (const TensorView &view : views) {
    if (view.name != "$hyper") {
      STRETTO_TRY(fillRows(view, source, first));
      continue;
    }
    for (void *slot : view.slots)
      std::memcpy(slot, hyper.data(), sizeof(hyper));
  }
  return Status::ok();
}

} // namespace stretto::runtime
