#include "stretto/Runtime/Feed.h"

#include <gtest/gtest.h>

using namespace stretto::runtime;
using stretto::program::DType;

namespace {
/// Token j of sample i is 100 i + j.
struct Numbers : SampleSource {
  Status read(uint64_t index, Sample &sample) const override {
    for (size_t j = 0; j < sample.mask.size(); ++j) {
      sample.tokens[j] = int32_t(100 * index + j);
      sample.labels[j] = sample.tokens[j] + 1;
      sample.mask[j] = 1.0f;
    }
    return Status::ok();
  }
};

template <typename T>
TensorView view(std::string name, DType type, std::vector<int64_t> shape,
                Box box, std::vector<std::vector<T>> &memory) {
  TensorView result;
  result.name = std::move(name);
  result.dtype = type;
  result.logicalShape = std::move(shape);
  result.box = std::move(box);
  result.bytes = memory[0].size() * sizeof(T);
  for (auto &slot : memory)
    result.slots.push_back(slot.data());
  return result;
}
} // namespace

TEST(Feed, SplitsTheBatchIntoMicroBatchesAndThenOverRanks) {
  // Batch 6 in 2 micro-batches of 3; 3 over 2 ranks (padded to 4); this is the
  // second rank, and the sequence of 4 is split over 2, second part.
  Box box{{{2, 3, 2}, {2, 4, 2}}};
  std::vector<std::vector<int32_t>> tokens(2, std::vector<int32_t>(4, -1));
  std::vector<std::vector<int64_t>> labels(2, std::vector<int64_t>(4, -1));
  std::vector<std::vector<float>> mask(2, std::vector<float>(4, -1));
  std::vector<std::vector<float>> hyper(1, std::vector<float>(4, -1));
  auto feed =
      Feed::of({view("tokens", DType::I32, {3, 4}, box, tokens),
                view("labels", DType::I64, {3, 4}, box, labels),
                view("mask", DType::F32, {3, 4}, box, mask),
                view("$hyper", DType::F32, {4}, Box{{{0, 4, 4}}}, hyper)});
  ASSERT_TRUE(feed) << feed.message();
  EXPECT_EQ(feed->batch(), 6);
  EXPECT_EQ(feed->sequence(), 4);
  ASSERT_TRUE(feed->fill(Numbers(), /*first=*/12, {1, 2, 3, 4}).isOk());
  // Sample 2 of micro-batch 0 is 14, of micro-batch 1 it is 17.
  EXPECT_EQ(tokens[0], (std::vector<int32_t>{1402, 1403, 0, 0}));
  EXPECT_EQ(tokens[1], (std::vector<int32_t>{1702, 1703, 0, 0}));
  EXPECT_EQ(labels[1], (std::vector<int64_t>{1703, 1704, 0, 0}));
  EXPECT_EQ(mask[0], (std::vector<float>{1, 1, 0, 0}));
  EXPECT_EQ(hyper[0], (std::vector<float>{1, 2, 3, 4}));
}

TEST(Feed, RefusesInputsThatDataCannotSupply) {
  std::vector<std::vector<int32_t>> memory(1, std::vector<int32_t>(4));
  Box box{{{0, 2, 2}, {0, 2, 2}}};
  EXPECT_FALSE(Feed::of({view("images", DType::I32, {2, 2}, box, memory)}));
  EXPECT_FALSE(Feed::of({view("mask", DType::I32, {2, 2}, box, memory)}));
  EXPECT_FALSE(Feed::of({view("tokens", DType::F32, {2, 2}, box, memory)}));
  EXPECT_FALSE(Feed::of({view("tokens", DType::I32, {4}, box, memory)}));
  Box large{{{0, 4, 4}, {0, 2, 2}}};
  EXPECT_FALSE(Feed::of({view("tokens", DType::I32, {4, 2}, large, memory)}));
}
