#include "stretto/Runtime/Schedule.h"

#include <gtest/gtest.h>

using namespace stretto::runtime;

// lr 1, minimum 0.2, 4 steps of warm-up, decay until step 12; by hand.
TEST(Schedule, WarmsUpLinearly) {
  Schedule schedule{1.0, 0.2, 4, 12, "cosine"};
  EXPECT_DOUBLE_EQ(learningRate(schedule, 1), 0.25);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 4), 1.0);
}

TEST(Schedule, Decays) {
  Schedule schedule{1.0, 0.2, 4, 12, "cosine"};
  EXPECT_DOUBLE_EQ(learningRate(schedule, 8), 0.6);
  EXPECT_NEAR(learningRate(schedule, 6), 0.2 + 0.4 * (1 + 0.70710678118654752),
              1e-15);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 12), 0.2);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 99), 0.2);
  schedule.decay = "linear";
  EXPECT_DOUBLE_EQ(learningRate(schedule, 6), 0.8);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 12), 0.2);
  schedule.decay = "constant";
  EXPECT_DOUBLE_EQ(learningRate(schedule, 99), 1.0);
}

TEST(Schedule, StandsWithoutWarmupOrDecaySteps) {
  Schedule schedule{1.0, 0.2, 0, 0, "cosine"};
  EXPECT_DOUBLE_EQ(learningRate(schedule, 1), 0.2);
}

TEST(Schedule, CorrectsTheBiasOfTheMoments) {
  auto hyper = hyperParameters({1.0, 1.0, 0, 1, "constant"}, 0.9, 0.5, 2);
  EXPECT_FLOAT_EQ(hyper[0], 1.0f);
  EXPECT_FLOAT_EQ(hyper[1], 0.19f);
  EXPECT_FLOAT_EQ(hyper[2], 0.75f);
  EXPECT_EQ(hyper[3], 0.0f);
}
