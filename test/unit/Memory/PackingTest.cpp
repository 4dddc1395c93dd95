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
  Packing packing = pack(llvm::ArrayRef<Lifetime>(), 64);
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

namespace {
/// A random schedule on two streams and values that it makes and reads.
struct Schedule {
  StreamOrder order{2};
  std::vector<Tenancy> tenancies;
  std::vector<std::vector<unsigned>> touches; // calls of a value

  explicit Schedule(std::mt19937 &random) {
    std::vector<unsigned> made;
    for (unsigned call = 0; call < 40; ++call) {
      std::vector<unsigned> reads, needs;
      for (unsigned k = random() % 3; call && k-- > 0;)
        reads.push_back(random() % call);
      for (unsigned value : reads)
        needs.push_back(touches[value].front());
      order.add(random() % 2, needs);
      touches.push_back({call});
      tenancies.push_back({order.spanOf(call), random() % 500, std::nullopt});
      for (unsigned value : reads) {
        order.extend(tenancies[value].span, call);
        touches[value].push_back(call);
      }
    }
  }

  /// Whether all that touches `a` has ended when `b` begins.
  bool dies(unsigned a, unsigned b) const {
    Span begin = order.spanOf(touches[b].front());
    for (unsigned call : touches[a])
      if (!order.spanOf(call).isBefore(begin))
        return false;
    return true;
  }
};
} // namespace

TEST(Packing, OnStreamsNothingIsSharedThatMayMeet) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 200; ++round) {
    Schedule schedule(random);
    schedule.tenancies[0].offset = 128;
    Packing packing = pack(schedule.tenancies, 64);
    EXPECT_EQ(packing.offsets[0], 128u);
    for (unsigned i = 0; i < schedule.tenancies.size(); ++i)
      for (unsigned j = 0; j < i; ++j) {
        uint64_t a = packing.offsets[i], b = packing.offsets[j];
        bool meet = a < b + schedule.tenancies[j].bytes &&
                    b < a + schedule.tenancies[i].bytes;
        if (meet && schedule.tenancies[i].bytes && schedule.tenancies[j].bytes)
          EXPECT_TRUE(schedule.dies(i, j) || schedule.dies(j, i))
              << "round " << round << ": " << i << " and " << j;
      }
  }
}
