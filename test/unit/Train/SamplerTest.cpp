#include "Sampler.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace stretto::runtime;

TEST(Sampler, TakesTheLargestLogitAtTemperatureZero) {
  EXPECT_EQ(drawToken({1, 5, 3}, 0, 0.99), 1);
}

TEST(Sampler, DrawsByTheCumulativeSoftmax) {
  // Probabilities 0.1, 0.2, 0.7 at temperature 1.
  std::vector<float> logits{std::log(1.0f), std::log(2.0f), std::log(7.0f)};
  EXPECT_EQ(drawToken(logits, 1, 0.0), 0);
  EXPECT_EQ(drawToken(logits, 1, 0.09), 0);
  EXPECT_EQ(drawToken(logits, 1, 0.11), 1);
  EXPECT_EQ(drawToken(logits, 1, 0.29), 1);
  EXPECT_EQ(drawToken(logits, 1, 0.31), 2);
  EXPECT_EQ(drawToken(logits, 1, 1 - 0x1p-53), 2);
  // Squared and normalised at temperature 1/2: 1/54, 4/54, 49/54.
  EXPECT_EQ(drawToken(logits, 0.5, 0.02), 1);
  EXPECT_EQ(drawToken(logits, 0.5, 0.1), 2);
}
