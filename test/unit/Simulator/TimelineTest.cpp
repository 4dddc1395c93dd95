//===- TimelineTest.cpp - simulated time against longest paths ------------===//

#include "stretto/Simulator/Timeline.h"

#include "mlir/Parser/Parser.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"
#include "stretto/Program/Serialize.h"
#include "stretto/Runtime/Exposed.h"
#include "gtest/gtest.h"
#include <map>

using namespace stretto;
using runtime::TraceSpan;

namespace {

/// The step of three layers that gathers and reduces on a stream of its own.
class Timeline : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<StrettoDialect, exec::ProgramDialect>();
    auto module = mlir::parseSourceFile<mlir::ModuleOp>(
        STRETTO_TEST_DIR "/Program/overlapped.mlir", &context);
    ASSERT_TRUE(module);
    bytes = *packProgram(*module);
    program = *runtime::Program::load({bytes.data(), bytes.size()});
    train = program->findFunction("train");
    rates.memoryBytes = 64; // a row of 64 bytes takes a second
    rates.link = [](const std::vector<program::AxisRef> &, int rounds,
                    double sent) { return rounds * 0.5 + sent / 16; };
  }

  std::vector<TraceSpan> run() { return simulate(*program, *train, 0, rates); }

  /// Seconds of one run of a segment, from what it reads and writes.
  double secondsOf(const program::Segment &segment) const {
    double seconds = 0;
    for (const program::Command *command : *segment.commands()) {
      if (command->payload_as_Collective()) {
        seconds += rates.link({}, 1, 64); // two ranks, 64 bytes to the other
        continue;
      }
      for (const program::Operand *operand : *command->operands())
        seconds += double(operand->bytes()) / rates.memoryBytes *
                   (operand->access() == program::Access::ReadWrite ? 2 : 1);
    }
    return seconds;
  }

  /// When every call ends: the longest path over streams and edges.
  std::vector<double> longestPaths() const {
    std::vector<double> ends;
    std::map<unsigned, double> free;
    for (const program::Call *call : *train->calls()) {
      double start = free[call->stream()];
      if (call->after())
        for (uint32_t before : *call->after())
          start = std::max(start, ends[before]);
      ends.push_back(start + secondsOf(*program->table().segments()->Get(
                                 call->segment())));
      free[call->stream()] = ends.back();
    }
    return ends;
  }

  mlir::MLIRContext context;
  std::string bytes;
  std::shared_ptr<const runtime::Program> program;
  const program::Function *train = nullptr;
  MachineRates rates;
};

} // namespace

TEST_F(Timeline, EveryCallEndsAtItsLongestPath) {
  std::vector<double> wanted = longestPaths();
  std::vector<double> ends(wanted.size());
  for (const TraceSpan &span : run())
    if (span.kind != "wait")
      ends[span.call] = std::max(ends[span.call], span.end);
  for (size_t call = 0; call < wanted.size(); ++call)
    EXPECT_NEAR(ends[call], wanted[call], 1e-9) << "call " << call;
  EXPECT_NEAR(stretto::secondsOf(run()),
              *std::max_element(wanted.begin(), wanted.end()), 1e-9);
}

TEST_F(Timeline, StreamsDoOneThingAfterTheOther) {
  std::map<unsigned, double> free;
  for (const TraceSpan &span : run()) {
    EXPECT_NEAR(span.begin, free[span.stream], 1e-9);
    EXPECT_GE(span.end, span.begin);
    free[span.stream] = span.end;
  }
  EXPECT_EQ(free.size(), 2u);
}

TEST_F(Timeline, WhatIsExposedIsWhatTheStepTakesBeyondComputation) {
  double computed = 0;
  for (const TraceSpan &span : run())
    if (span.kind == "kernel")
      computed += span.end - span.begin;
  runtime::Communication all = runtime::communicationOf(run());
  EXPECT_GT(all.exposedSeconds, 0);
  EXPECT_LT(all.exposedSeconds, all.seconds) << "some of it is hidden";
  EXPECT_NEAR(stretto::secondsOf(run()),
              computed + all.exposedSeconds + all.otherWaitSeconds, 1e-9);
}

TEST_F(Timeline, OfFreeLinksNothingIsExposedAndOfFreeMemoryAll) {
  MachineRates given = rates;
  rates.link = nullptr;
  EXPECT_EQ(runtime::communicationOf(run()).exposedSeconds, 0);
  rates = given;
  rates.memoryBytes = 1e30;
  runtime::Communication all = runtime::communicationOf(run());
  EXPECT_NEAR(all.exposedSeconds, all.seconds, 1e-9);
}
