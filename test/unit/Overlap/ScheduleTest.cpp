//===- ScheduleTest.cpp - orders are legal, communication is early --------===//

#include "stretto/Transforms/Overlap/Schedule.h"

#include "gtest/gtest.h"
#include <map>
#include <random>

using namespace stretto;

namespace {

constexpr CallKind kinds[] = {CallKind::Compute, CallKind::GatherOnce,
                              CallKind::Gather, CallKind::Reduce,
                              CallKind::Accumulate};

std::vector<ScheduledCall> randomStep(std::mt19937 &random) {
  std::vector<ScheduledCall> calls;
  for (unsigned index = 0; index < 40; ++index) {
    ScheduledCall call;
    call.kind = random() % 2 ? CallKind::Compute : kinds[random() % 5];
    for (unsigned k = random() % 4; index && k-- > 0;)
      call.needs.push_back(random() % index);
    call.bytes = random() % 100;
    calls.push_back(call);
  }
  return calls;
}

std::map<unsigned, size_t> placesOf(const std::vector<Issue> &issues) {
  std::map<unsigned, size_t> places;
  for (size_t i = 0; i < issues.size(); ++i)
    places[issues[i].call] = i;
  return places;
}

/// A step with parameters gathered in every pass, and one bucket's worth of
/// gradient in every layer: gather f0 gather f1 … gather b1 reduce …
struct Step {
  std::vector<ScheduledCall> calls;
  std::vector<unsigned> gathers, passes, reductions;

  Step(unsigned layers, CallKind reduction) {
    for (unsigned pass = 0; pass < 2 * layers; ++pass) {
      gathers.push_back(add(CallKind::Gather, {}));
      llvm::SmallVector<unsigned> needs = {gathers.back()};
      if (pass)
        needs.push_back(passes.back());
      passes.push_back(add(CallKind::Compute, needs));
      if (reduction == CallKind::Accumulate && pass >= layers)
        reductions.push_back(add(reduction, {passes.back()}));
    }
    if (reduction == CallKind::Reduce)
      for (unsigned pass = layers; pass < 2 * layers; ++pass)
        reductions.push_back(add(reduction, {passes[pass]}));
  }
  unsigned add(CallKind kind, llvm::SmallVector<unsigned> needs) {
    calls.push_back({kind, needs, 10});
    return calls.size() - 1;
  }
};

} // namespace

TEST(Schedule, EveryCallComesOnceAfterWhatItNeeds) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 500; ++round) {
    std::vector<ScheduledCall> calls = randomStep(random);
    std::optional<OverlapOptions> options;
    if (round % 4)
      options = {round % 7 * 40, round % 4};
    std::vector<Issue> issues = scheduleCalls(calls, options);
    std::map<unsigned, size_t> places = placesOf(issues);
    ASSERT_EQ(places.size(), calls.size());
    unsigned computed = 0;
    for (size_t at = 0; at < issues.size(); ++at) {
      const Issue &issue = issues[at];
      for (unsigned need : calls[issue.call].needs)
        EXPECT_LT(places[need], at);
      for (unsigned other : issue.after)
        EXPECT_LT(places[other], at);
      bool isCompute = calls[issue.call].kind == CallKind::Compute;
      EXPECT_EQ(issue.stream, options && !isCompute ? 1u : 0u);
      if (!isCompute)
        continue;
      EXPECT_GE(issue.call, computed) << "computation keeps its order";
      computed = issue.call;
    }
  }
}

TEST(Schedule, GathersRunAheadByThePrefetch) {
  for (unsigned prefetch : {0, 1, 2, 3}) {
    Step step(4, CallKind::Accumulate);
    std::vector<Issue> issues =
        scheduleCalls(step.calls, OverlapOptions{1, prefetch});
    auto places = placesOf(issues);
    for (unsigned pass = 0; pass < step.passes.size(); ++pass) {
      unsigned before = pass - std::min(pass, prefetch);
      EXPECT_LT(places[step.gathers[pass]], places[step.passes[before]]);
      const Issue &issue = issues[places[step.gathers[pass]]];
      llvm::SmallVector<unsigned, 1> after;
      if (before)
        after.push_back(step.passes[before - 1]);
      EXPECT_EQ(issue.after, after) << "no earlier: memory";
    }
  }
}

TEST(Schedule, ReductionsFollowTheirBackwardAndBoundWhatIsOnItsWay) {
  Step step(5, CallKind::Accumulate);
  std::vector<Issue> issues = scheduleCalls(step.calls, OverlapOptions{1, 1});
  auto places = placesOf(issues);
  for (unsigned k = 0; k < step.reductions.size(); ++k) {
    unsigned pass = step.passes[5 + k];
    EXPECT_EQ(places[step.reductions[k]], places[pass] + 1);
    if (k == 0 || k + 1 == step.reductions.size())
      continue;
    const Issue &next = issues[places[step.passes[5 + k + 1]]];
    EXPECT_EQ(next.after,
              (llvm::SmallVector<unsigned, 1>{step.reductions[k - 1]}));
  }
}

TEST(Schedule, BucketsAreFilledBeforeTheyAreReduced) {
  Step step(6, CallKind::Reduce);
  std::vector<Issue> issues = scheduleCalls(step.calls, OverlapOptions{25, 1});
  auto places = placesOf(issues);
  for (unsigned k = 0; k < step.reductions.size(); ++k) {
    unsigned last = k / 3 * 3 + 2; // 10 + 10 + 10 >= 25
    EXPECT_GT(places[step.reductions[k]], places[step.passes[6 + last]]);
    if (last < 5)
      EXPECT_LT(places[step.reductions[k]], places[step.passes[6 + last + 1]]);
  }
  // One bucket of everything waits for the last gradient.
  issues = scheduleCalls(step.calls, OverlapOptions{1000, 1});
  places = placesOf(issues);
  for (unsigned reduction : step.reductions)
    EXPECT_GT(places[reduction], places[step.passes.back()]);
}

TEST(Schedule, CopiesForTheStepAreMadeAtOnce) {
  std::vector<ScheduledCall> calls;
  for (unsigned k = 0; k < 3; ++k)
    calls.push_back({CallKind::GatherOnce, {}, 0});
  for (unsigned k = 0; k < 6; ++k)
    calls.push_back({CallKind::Compute, {k % 3}, 0});
  std::vector<Issue> issues = scheduleCalls(calls, OverlapOptions{1, 1});
  for (unsigned k = 0; k < 9; ++k)
    EXPECT_EQ(issues[k].call, k);
}
