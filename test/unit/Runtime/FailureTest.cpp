//===- FailureTest.cpp - a job that fails ends and says why ---------------===//

#include "stretto/Runtime/InProcess.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

namespace stretto::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::Test;

CommOptions deadline(std::chrono::milliseconds limit) {
  CommOptions options;
  options.deadline = limit;
  return options;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Failure, AnErrorWakesAllOthersAndNamesTheRank) {
  std::vector<Status> seen(4);
  Status status = runInProcess(4, deadline(1h), [&](World &world) {
    if (world.rank() == 2)
      return failure(Code::RunFailed, "loss is NaN");
    return seen[world.rank()] = world.everyone().barrier();
  });
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_EQ(status.message(), "rank 2: loss is NaN");
  for (int64_t rank : {0, 1, 3})
    EXPECT_EQ(seen[rank].message(), "rank 2: loss is NaN") << rank;
}

TEST(Failure, ARankThatIsLateIsNamedAtTheDeadline) {
  Status status = runInProcess(3, deadline(60ms), [](World &world) {
    if (world.rank() == 1)
      while (world.state())
        std::this_thread::yield();
    return world.everyone().barrier();
  });
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(contains(status.message(), "rank 1 did not come"))
      << status.message();
}

TEST(Failure, ARankThatReturnsEarlyIsNamedAtOnce) {
  Status status = runInProcess(3, deadline(1h), [](World &world) {
    return world.rank() == 0 ? Status::ok() : world.everyone().barrier();
  });
  EXPECT_TRUE(contains(status.message(), "rank 0 ended before the others"))
      << status.message();
}

TEST(Failure, DifferentCollectivesAreNoticed) {
  Status status = runInProcess(3, deadline(1h), [](World &world) {
    std::vector<double> values(8);
    return world.everyone().sum(values.data(), world.rank() == 1 ? 4 : 8);
  });
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_TRUE(
      contains(status.message(), "rank 1 runs another collective than rank 0"))
      << status.message();
}

TEST(Failure, AnExceptionInARankIsAnError) {
  Status status = runInProcess(2, deadline(1h), [](World &world) -> Status {
    if (world.rank() == 1)
      throw std::runtime_error("out of luck");
    return world.everyone().barrier();
  });
  EXPECT_EQ(status.code(), Code::Internal);
  EXPECT_EQ(status.message(), "rank 1: out of luck");
}

TEST(Failure, AReductionThatDoesNotExistIsAnError) {
  Status status = runInProcess(2, deadline(1h), [](World &world) {
    CollectiveShape shape;
    shape.dtype = program::DType::I8;
    shape.inner = 1;
    char source = 0, target = 0;
    uint64_t sent = 0;
    return world.everyone().run(shape, &source, &target, sent);
  });
  EXPECT_EQ(status.code(), Code::Rejected);
}

TEST(Failure, NumberOfRanksIsChecked) {
  auto body = [](World &) { return Status::ok(); };
  EXPECT_EQ(runInProcess(0, {}, body).code(), Code::Usage);
  EXPECT_EQ(runInProcess(1 << 20, {}, body).code(), Code::Usage);
}

TEST(Failure, OptionsComeFromTheEnvironment) {
  setenv("STRETTO_DEADLINE", "7", 1);
  setenv("STRETTO_DELAY", "12:250", 1);
  Result<CommOptions> options = CommOptions::fromEnvironment();
  ASSERT_TRUE(options) << options.message();
  EXPECT_EQ(options->deadline, 7s);
  EXPECT_EQ(options->delaySeed, 12u);
  EXPECT_EQ(options->maxDelayMicroseconds, 250);
  for (const char *bad : {"", "x", "12", "12:", "12:3x", "-1:3", "1:9999999"}) {
    setenv("STRETTO_DELAY", bad, 1);
    EXPECT_EQ(CommOptions::fromEnvironment().code(), Code::Usage) << bad;
  }
  unsetenv("STRETTO_DEADLINE");
  unsetenv("STRETTO_DELAY");
}

} // namespace
} // namespace stretto::runtime
