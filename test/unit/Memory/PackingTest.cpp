//===- PackingTest.cpp ----------------------------------------------------===//

#include "stretto/Transforms/Memory/Packing.h"
#include "gtest/gtest.h"
#include <random>

using namespace stretto;

namespace {

/// Alive at once and in the same bytes?
bool collides(const Lifetime &a, uint64_t atA, const Lifetime &b,
              uint64_t atB) {
  return a.overlaps(b) && atA < atB + b.bytes && atB < atA + a.bytes;
}

void expectValid(llvm::ArrayRef<Lifetime> lives, const Packing &packing,
                 uint64_t alignment) {
  ASSERT_EQ(packing.offsets.size(), lives.size());
  for (size_t i = 0; i < lives.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % alignment, 0u);
    EXPECT_LE(packing.offsets[i] + lives[i].bytes, packing.bytes);
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(
          collides(lives[i], packing.offsets[i], lives[j], packing.offsets[j]))
          << i << " and " << j;
  }
}

TEST(Packing, Nothing) {
  Packing packing = pack({}, 64);
  EXPECT_EQ(packing.bytes, 0u);
  EXPECT_EQ(packing.live, 0u);
}

TEST(Packing, OneAfterAnotherShareBytes) {
  Lifetime lives[] = {{0, 1, 100}, {2, 3, 128}, {4, 9, 64}};
  Packing packing = pack(lives, 64);
  EXPECT_EQ(packing.bytes, 128u);
  EXPECT_EQ(packing.live, 128u);
}

TEST(Packing, AtOneTimeTheyDoNot) {
  Lifetime lives[] = {{0, 2, 64}, {2, 3, 64}}; // both alive at 2
  Packing packing = pack(lives, 64);
  EXPECT_EQ(packing.bytes, 128u);
}

TEST(Packing, ActivationsOfAStackNestWithoutLoss) {
  // Forward i writes what backward i reads: lifetimes nest like brackets.
  constexpr int64_t layers = 24;
  std::vector<Lifetime> lives;
  for (int64_t i = 0; i < layers; ++i) {
    lives.push_back({i, 2 * layers - i, 4096}); // saved
    lives.push_back({i, i + 1, 1024});          // to the next layer
    lives.push_back({2 * layers - i, 2 * layers - i + 1, 1024}); // cotangent
  }
  Packing packing = pack(lives, 64);
  expectValid(lives, packing, 64);
  EXPECT_EQ(packing.bytes, packing.live);
}

TEST(Packing, RandomLifetimes) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lives(1 + random() % 40);
    for (Lifetime &life : lives) {
      life.first = random() % 30;
      life.last = life.first + random() % 10;
      life.bytes = random() % 1000;
    }
    Packing packing = pack(lives, 64);
    expectValid(lives, packing, 64);
    EXPECT_GE(packing.bytes, packing.live);
    if (packing.live)
      worst = std::max(worst, double(packing.bytes) / double(packing.live));
  }
  printf("worst packing: %.2f x the live bytes\n", worst);
  EXPECT_LT(worst, 2);
}

} // namespace
