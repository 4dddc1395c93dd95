#include "stretto/Runtime/BoxCopy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace stretto::runtime;

namespace {
/// Shard `index` of `count` of a dimension padded to a multiple of count.
BoxDim shard(int64_t size, int64_t count, int64_t index) {
  int64_t extent = (size + count - 1) / count;
  int64_t begin = std::min(size, index * extent);
  return {begin, std::min(size, begin + extent), extent};
}
} // namespace

TEST(BoxCopy, RunsNameTheLogicalIndex) {
  Box box{{{2, 4, 2}, {3, 5, 4}}}; // rows 2..3, columns 3..4 of 4 in memory
  std::vector<std::vector<int64_t>> runs;
  forEachRun(box, {5, 5}, [&](int64_t offset, int64_t index, int64_t length) {
    runs.push_back({offset, index, length});
  });
  EXPECT_EQ(runs, (std::vector<std::vector<int64_t>>{{0, 13, 2}, {4, 18, 2}}));
}

TEST(BoxCopy, AScalarIsOneRunAndAnEmptyBoxNone) {
  int64_t elements = 0;
  auto count = [&](int64_t, int64_t, int64_t length) { elements += length; };
  forEachRun(Box{}, {}, count);
  EXPECT_EQ(elements, 1);
  forEachRun(Box{{{0, 4, 4}, {9, 9, 3}}}, {4, 9}, count);
  EXPECT_EQ(elements, 1);
}

TEST(BoxCopy, CopiesWhatTwoLayoutsShare) {
  // A 7x6 tensor in 4 shards by rows (the last one padded) becomes 4 shards by
  // columns (the last one all padding): every element arrives exactly once.
  std::vector<int> whole(42), result(42, 0);
  std::iota(whole.begin(), whole.end(), 1);
  auto rows = [](int i) { return Box{{shard(7, 4, i), {0, 6, 6}}}; };
  auto columns = [](int i) { return Box{{{0, 7, 7}, shard(6, 4, i)}}; };
  std::vector<std::vector<int>> shards;
  for (int i = 0; i < 4; ++i) {
    shards.emplace_back(rows(i).localElements(), 0);
    copyCommon(wholeBox({7, 6}), whole.data(), rows(i), shards[i].data(), 4);
  }
  EXPECT_EQ(shards[3][5], 42);
  EXPECT_EQ(shards[3][6], 0); // padding
  int64_t copied = 0;
  for (int i = 0; i < 4; ++i) {
    std::vector<int> local(columns(i).localElements(), 0);
    for (int j = 0; j < 4; ++j)
      copied +=
          copyCommon(rows(j), shards[j].data(), columns(i), local.data(), 4);
    copyCommon(columns(i), local.data(), wholeBox({7, 6}), result.data(), 4);
  }
  EXPECT_EQ(copied, 42);
  EXPECT_EQ(result, whole);
}

TEST(BoxCopy, FindsTheFirstDifferenceAndIgnoresPadding) {
  Box padded{{{0, 2, 2}, {0, 3, 4}}};
  std::vector<int> a{1, 2, 3, 99, 4, 5, 6, 98}, b{1, 2, 3, 4, 5, 6};
  Box whole = wholeBox({2, 3});
  EXPECT_EQ(firstDifference(padded, a.data(), whole, b.data(), 4), -1);
  b[4] = 7;
  EXPECT_EQ(firstDifference(padded, a.data(), whole, b.data(), 4), 4);
}

TEST(BoxCopy, CountsCommonElements) {
  EXPECT_EQ(
      commonElements(Box{{{0, 4, 4}, {2, 5, 3}}}, Box{{{3, 9, 6}, {0, 4, 4}}}),
      1 * 2);
  EXPECT_EQ(commonElements(Box{{{0, 4, 4}}}, Box{{{4, 9, 5}}}), 0);
}
