//===- SaveChoiceTest.cpp - kept and repeated values against brute force --===//
//
// Random straight-line code of up to nine operations: every set of operations
// to repeat is tried, and what must then be kept follows.
//
//===----------------------------------------------------------------------===//

#include "stretto/Transforms/Derive/SaveChoice.h"

#include "gtest/gtest.h"
#include <random>

using namespace stretto;
using llvm::BitVector;

namespace {

SaveProblem randomProblem(std::mt19937 &random) {
  auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  SaveProblem problem;
  for (int i = pick(1, 3); i > 0; --i)
    problem.values.emplace_back();
  int numOps = pick(1, 9);
  for (int op = 0; op < numOps; ++op) {
    SaveProblem::Op &entry = problem.ops.emplace_back();
    entry.flops = pick(0, 3) ? pick(1, 50) : pick(0, 1000);
    entry.mayRepeat = pick(0, 4) != 0;
    for (int i = pick(1, 3); i > 0; --i)
      entry.operands.push_back(pick(0, int(problem.values.size()) - 1));
    for (int i = pick(1, 2); i > 0; --i)
      problem.values.push_back({double(pick(0, 40)), op, pick(0, 2) == 0,
                                !entry.mayRepeat || pick(0, 8) != 0});
  }
  return problem;
}

struct Outcome {
  double bytes, flops;
};

/// What must be kept when exactly the operations in `repeat` may be repeated;
/// nothing when that is not allowed.
std::optional<Outcome> outcomeOf(const SaveProblem &problem, unsigned repeat) {
  BitVector needed(problem.values.size());
  for (size_t v = 0; v < problem.values.size(); ++v)
    needed[v] = problem.values[v].isRequired;
  Outcome outcome{0, 0};
  for (int v = int(problem.values.size()) - 1; v >= 0; --v) {
    const SaveProblem::Value &value = problem.values[v];
    if (!needed[v] || value.producer < 0)
      continue;
    if (!(repeat >> value.producer & 1)) {
      if (!value.maySave)
        return std::nullopt;
      outcome.bytes += value.bytes;
      continue;
    }
    if (!problem.ops[value.producer].mayRepeat)
      return std::nullopt;
    for (unsigned operand : problem.ops[value.producer].operands)
      needed.set(operand);
  }
  for (size_t op = 0; op < problem.ops.size(); ++op)
    for (size_t v = 0; v < problem.values.size(); ++v)
      if ((repeat >> op & 1) && needed[v] &&
          problem.values[v].producer == int(op)) {
        outcome.flops += problem.ops[op].flops;
        break;
      }
  return outcome;
}

/// The choice is one that can be carried out and costs what it says.
void checkHonest(const SaveProblem &problem, const SaveChoice &choice) {
  unsigned repeat = 0;
  for (unsigned op : choice.repeated.set_bits())
    repeat |= 1u << op;
  std::optional<Outcome> outcome = outcomeOf(problem, repeat);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->bytes, choice.bytes);
  EXPECT_EQ(outcome->flops, choice.flops);
}

TEST(SaveChoice, TheFewestBytesAreThoseOfExhaustion) {
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    SaveProblem problem = randomProblem(random);
    Outcome best{1e300, 1e300};
    for (unsigned repeat = 0; repeat < 1u << problem.ops.size(); ++repeat)
      if (auto outcome = outcomeOf(problem, repeat))
        if (std::pair(outcome->bytes, outcome->flops) <
            std::pair(best.bytes, best.flops))
          best = *outcome;
    SaveChoice choice = saveLeastBytes(problem);
    checkHonest(problem, choice);
    ASSERT_EQ(choice.bytes, best.bytes) << "seed " << seed;
    ASSERT_EQ(choice.flops, best.flops) << "seed " << seed;
  }
}

TEST(SaveChoice, WithinABoundTheWorkIsThatOfExhaustion) {
  unsigned infeasible = 0;
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 random(seed);
    SaveProblem problem = randomProblem(random);
    double bound = std::uniform_int_distribution<int>(0, 150)(random);
    double best = 1e300;
    for (unsigned repeat = 0; repeat < 1u << problem.ops.size(); ++repeat)
      if (auto outcome = outcomeOf(problem, repeat))
        if (outcome->bytes <= bound)
          best = std::min(best, outcome->flops);
    std::optional<SaveChoice> choice = saveWithin(problem, bound);
    ASSERT_EQ(choice.has_value(), best < 1e300) << "seed " << seed;
    infeasible += !choice;
    if (!choice)
      continue;
    checkHonest(problem, *choice);
    EXPECT_TRUE(choice->isOptimal);
    ASSERT_LE(choice->bytes, bound) << "seed " << seed;
    ASSERT_EQ(choice->flops, best) << "seed " << seed;
  }
  EXPECT_GT(infeasible, 100u);
  EXPECT_LT(infeasible, 1000u);
}

TEST(SaveChoice, TheFrontierIsTheLowerHullOfExhaustion) {
  size_t points = 0;
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    std::mt19937 random(seed);
    SaveProblem problem = randomProblem(random);
    std::vector<SaveChoice> frontier = saveFrontier(problem);
    points += frontier.size();
    for (size_t i = 0; i < frontier.size(); ++i) {
      checkHonest(problem, frontier[i]);
      if (i > 0)
        ASSERT_LT(frontier[i].bytes, frontier[i - 1].bytes);
    }
    // Nothing lies below a segment of the hull or beyond its ends.
    for (unsigned repeat = 0; repeat < 1u << problem.ops.size(); ++repeat) {
      auto outcome = outcomeOf(problem, repeat);
      if (!outcome)
        continue;
      ASSERT_GE(outcome->bytes, frontier.back().bytes) << "seed " << seed;
      ASSERT_GE(outcome->flops, frontier.front().flops) << "seed " << seed;
      for (size_t i = 1; i < frontier.size(); ++i) {
        double price = (frontier[i].flops - frontier[i - 1].flops) /
                       (frontier[i - 1].bytes - frontier[i].bytes);
        ASSERT_GE(outcome->flops + price * outcome->bytes,
                  (frontier[i].flops + price * frontier[i].bytes) * (1 - 1e-6))
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(points, 2000u);
}

TEST(SaveChoice, AnAbandonedSearchSaysSoAndIsHonest) {
  std::mt19937 random(7);
  SaveProblem problem = randomProblem(random);
  for (double bound : {0.0, 20.0, 60.0})
    if (auto choice = saveWithin(problem, bound, /*maxCuts=*/1))
      checkHonest(problem, *choice);
}

} // namespace
