#include "stretto/Runtime/SampleOrder.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace stretto::runtime;

TEST(Permutation, IsABijectionForEverySize) {
  for (uint64_t size : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097}) {
    Permutation permutation(size, 42);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) {
      uint64_t image = permutation(i);
      EXPECT_LT(image, size);
      seen.insert(image);
    }
    EXPECT_EQ(seen.size(), size);
  }
}

TEST(Permutation, DependsOnTheKeyAndOnNothingElse) {
  Permutation a(1000, 1), again(1000, 1), b(1000, 2);
  int moved = 0, differ = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a(i), again(i));
    moved += a(i) != i;
    differ += a(i) != b(i);
  }
  // A random permutation has one fixed point on average, never dozens.
  EXPECT_GT(moved, 980);
  EXPECT_GT(differ, 980);
}

TEST(SampleOrder, CutsWindowsOfSequencePlusOneAtStrideSequence) {
  EXPECT_EQ(windowCount(0, 4), 0u);
  EXPECT_EQ(windowCount(4, 4), 0u);
  EXPECT_EQ(windowCount(5, 4), 1u); // tokens 0..4
  EXPECT_EQ(windowCount(8, 4), 1u);
  EXPECT_EQ(windowCount(9, 4), 2u); // the second one is 4..8
}

TEST(SampleOrder, EveryEpochVisitsEveryWindowOnceInAnOrderOfItsOwn) {
  SampleOrder order(50, 7);
  std::vector<std::vector<uint64_t>> epochs(3);
  for (uint64_t cursor = 0; cursor < 150; ++cursor)
    epochs[cursor / 50].push_back(order.window(cursor));
  for (const auto &epoch : epochs)
    EXPECT_EQ(std::set<uint64_t>(epoch.begin(), epoch.end()).size(), 50u);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(SampleOrder, SplitsOffTheLastFraction) {
  EXPECT_EQ(heldOutTokens(1000, 0.05), 50u);
  EXPECT_EQ(heldOutTokens(1000, 0), 0u);
  EXPECT_EQ(heldOutTokens(19, 0.05), 0u);
}
