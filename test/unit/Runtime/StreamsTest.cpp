//===- StreamsTest.cpp - a Program of two streams -------------------------===//
//
// On dp = 2, micro-batch by micro-batch k:
//
//   make (stream 0)  g = x_k w               into one of two buffers
//   sum  (stream 1)  s = (sum over dp of g) w, after make k
//   use  (stream 0)  total += s w,           after sum k
//
// so that the sum of k overlaps with make k + 1. However the streams are timed,
// the total has the bits that one stream gives.
//
//===----------------------------------------------------------------------===//

#include "AllocationCounter.h"
#include "ProgramBuilder.h"

#include "stretto/Runtime/Executor.h"
#include "stretto/Runtime/Exposed.h"
#include "stretto/Runtime/InProcess.h"
#include "stretto/Runtime/Random.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace stretto::runtime::test {
namespace {

constexpr int64_t size = 64, microbatches = 6;
constexpr uint64_t matrix = size * size * 4;

void addProduct(SegmentT &segment, std::unique_ptr<OperandT> a,
                std::unique_ptr<OperandT> c, bool accumulate = false) {
  GemmT gemm;
  gemm.m = gemm.n = gemm.k = size;
  gemm.a_row = gemm.b_row = gemm.c_row = size;
  gemm.a_col = gemm.b_col = gemm.c_col = 1;
  gemm.accumulate = accumulate;
  addCommand(segment, std::move(gemm), std::move(a), argument(1, matrix),
             std::move(c));
}

enum { Clear, Make, Sum, Use, Finish }; // segments

void addSegments(ProgramT &program) {
  auto add = [&](const char *name, std::vector<const char *> arguments,
                 Access last) -> SegmentT & {
    SegmentT &segment = addSegment(program, name);
    for (const char *argument : arguments) {
      bool isLast = argument == arguments.back();
      addArgument(segment, matrix, isLast ? last : Access::Read);
      segment.arguments.back()->name = argument;
    }
    return segment;
  };
  SegmentT &clear = add("clear", {"total"}, Access::Write);
  addCommand(clear, FillT(), argument(0, matrix, Access::Write));
  SegmentT &make = add("make", {"x", "w", "g"}, Access::Write);
  addProduct(make, argument(0, matrix), argument(2, matrix, Access::Write));
  SegmentT &sum = add("sum", {"g", "w", "s"}, Access::Write);
  sum.scratch_bytes = matrix;
  CollectiveT reduce;
  reduce.inner = size * size;
  reduce.cause = "g over dp";
  addCommand(sum, std::move(reduce), argument(0, matrix),
             local(0, matrix, Access::Write));
  addProduct(sum, local(0, matrix), argument(2, matrix, Access::Write));
  SegmentT &use = add("use", {"s", "w", "total"}, Access::ReadWrite);
  addProduct(use, argument(0, matrix), argument(2, matrix, Access::ReadWrite),
             true);
  SegmentT &finish = add("finish", {"total", "out"}, Access::Write);
  addCommand(finish, CopyT(), argument(0, matrix),
             argument(1, matrix, Access::Write));
}

std::unique_ptr<SlotT> at(Region region, uint64_t index) {
  return slot(region, index * matrix, matrix);
}

/// `calls` receives the numbers of make, sum and use by micro-batch.
struct Numbers {
  uint32_t make[microbatches], sum[microbatches], use[microbatches];
};

ProgramT makeProgram(Numbers &numbers) {
  ProgramT program;
  program.version = programVersion;
  program.streams = 2;
  addAxis(program, "dp", 2);
  addGroup(program, {AxisRef(0, 1, 2)});
  addSegments(program);
  addRegion(program, Region::Parameters, matrix);
  addRegion(program, Region::Inputs, microbatches * matrix);
  addRegion(program, Region::Outputs, matrix);
  // total, g twice, s twice; scratch of the sums behind.
  addRegion(program, Region::Gradients, 5 * matrix);
  addRegion(program, Region::Scratch, 6 * matrix);
  FunctionT &train = addFunction(program, "train");
  auto square = [] {
    return list(dimension(size, size), dimension(size, size));
  };
  std::vector<std::unique_ptr<SlotT>> inputs;
  for (int64_t k = 0; k < microbatches; ++k)
    inputs.push_back(at(Region::Inputs, k));
  train.inputs.push_back(binding("x", square(), std::move(inputs)));
  train.outputs.push_back(
      binding("out", square(), list(at(Region::Outputs, 0))));
  auto w = [] { return at(Region::Parameters, 0); };
  auto total = [] { return at(Region::Gradients, 0); };
  auto g = [](int64_t k) { return at(Region::Gradients, 1 + k % 2); };
  auto s = [](int64_t k) { return at(Region::Gradients, 3 + k % 2); };
  auto number = [&] { return uint32_t(train.calls.size() - 1); };
  auto use = [&](int64_t k) {
    CallT &call = addCall(train, Use, s(k), w(), total());
    call.after = {numbers.sum[k]};
    numbers.use[k] = number();
  };
  addCall(train, Clear, total());
  for (int64_t k = 0; k < microbatches; ++k) {
    addCall(train, Make, at(Region::Inputs, k), w(), g(k));
    numbers.make[k] = number();
    CallT &sum = addCall(train, Sum, g(k), w(), s(k));
    sum.stream = 1;
    sum.after = {numbers.make[k]};
    sum.scratch = at(Region::Scratch, 5);
    sum.instance = "bucket." + std::to_string(k);
    numbers.sum[k] = number();
    if (k > 0)
      use(k - 1);
  }
  use(microbatches - 1);
  addCall(train, Finish, total(), at(Region::Outputs, 0));
  auto parameter = std::make_unique<ParameterT>();
  parameter->name = "w";
  parameter->dims = square();
  parameter->parameter = w();
  program.parameters.push_back(std::move(parameter));
  return program;
}

ProgramT makeProgram() {
  Numbers ignored;
  return makeProgram(ignored);
}

/// In [-1, 1).
float valueAt(uint64_t key, int64_t i) {
  return float(int64_t(random::mix(key * 7919 + uint64_t(i)) % 2048) - 1024) /
         1024;
}

void fillTensors(Executor &executor, size_t function) {
  TensorView x = *executor.input(function, "x");
  for (int64_t k = 0; k < microbatches; ++k)
    for (int64_t i = 0; i < size * size; ++i)
      x.data<float>(size_t(k))[i] =
          valueAt(uint64_t(executor.world().rank() * 100 + k), i);
  for (int64_t i = 0; i < size * size; ++i)
    executor.parameters()[0].value.data<float>()[i] = valueAt(999, i) / 8;
}

using Body = std::function<Status(Executor &, size_t)>;

Status onTwoRanks(const ProgramT &table, const ExecutorOptions &options,
                  const CommOptions &comm, const Body &body) {
  STRETTO_ASSIGN(auto program, load(table));
  return runInProcess(2, comm, [&](World &world) {
    STRETTO_ASSIGN(auto device, createCpuDevice());
    auto executor = createExecutor(program, world, *device, options);
    STRETTO_TRY(executor->prepare());
    STRETTO_TRY(executor->initialize(Bytes()));
    STRETTO_ASSIGN(size_t function, executor->function("train"));
    fillTensors(*executor, function);
    return body(*executor, function);
  });
}

/// The output of rank 0 after each of the steps, one after the other.
std::string outputsOf(const ProgramT &table, const ExecutorOptions &options,
                      const CommOptions &comm = {}, int64_t steps = 1) {
  std::string outputs;
  Status status = onTwoRanks(
      table, options, comm, [&](Executor &executor, size_t function) -> Status {
        for (int64_t step = 1; step <= steps; ++step) {
          STRETTO_TRY(executor.execute(function, step));
          TensorView out = *executor.output(function, "out");
          if (executor.world().rank() == 0)
            outputs.append(out.data<char>(), out.bytes);
        }
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
  return outputs;
}

/// Everything on one stream, in the order of the text.
std::string expectedOutput() {
  ProgramT table = makeProgram();
  for (auto &call : table.functions[0]->calls) {
    call->stream = 0;
    call->after.clear();
  }
  return outputsOf(table, {});
}

ExecutorOptions adversary(uint64_t seed) {
  ExecutorOptions options;
  options.adversary = seed;
  return options;
}

std::string repeated(const std::string &text, int64_t times) {
  std::string all;
  while (times-- > 0)
    all += text;
  return all;
}

TEST(Streams, OneStreamComputesWhatLoopsDo) {
  // Against f64: total = (sum over k and ranks of x) w w w.
  std::vector<double> total(size * size), w(size * size);
  for (int64_t i = 0; i < size * size; ++i) {
    w[i] = double(valueAt(999, i)) / 8;
    for (int64_t rank : {0, 1})
      for (int64_t k = 0; k < microbatches; ++k)
        total[i] += double(valueAt(uint64_t(rank * 100 + k), i));
  }
  for (int product = 0; product < 3; ++product) {
    std::vector<double> next(size * size);
    for (int64_t i = 0; i < size; ++i)
      for (int64_t k = 0; k < size; ++k)
        for (int64_t j = 0; j < size; ++j)
          next[i * size + j] += total[i * size + k] * w[k * size + j];
    total = next;
  }
  std::string got = expectedOutput();
  ASSERT_EQ(got.size(), matrix);
  for (int64_t i = 0; i < size * size; ++i) {
    float value;
    std::memcpy(&value, got.data() + i * 4, 4);
    EXPECT_NEAR(value, total[i], 1e-4) << i;
  }
}

TEST(Streams, NoTimingChangesABit) {
  constexpr int64_t steps = 20;
  std::string wanted = repeated(expectedOutput(), steps);
  EXPECT_EQ(outputsOf(makeProgram(), {}, {}, steps), wanted);
  for (uint64_t seed : {1, 2, 3}) {
    CommOptions slow;
    slow.delaySeed = seed;
    slow.maxDelayMicroseconds = 300;
    EXPECT_EQ(outputsOf(makeProgram(), {}, slow, steps), wanted) << seed;
  }
}

TEST(Streams, TheAdversaryChangesNoBit) {
  constexpr int64_t steps = 3;
  std::string wanted = repeated(expectedOutput(), steps);
  for (uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(outputsOf(makeProgram(), adversary(seed), {}, steps), wanted)
        << seed;
}

TEST(Streams, TheAdversaryFindsEveryMissingEdge) {
  std::string wanted = expectedOutput();
  size_t calls = makeProgram().functions[0]->calls.size(), edges = 0;
  for (size_t index = 0; index < calls; ++index) {
    ProgramT table = makeProgram();
    if (table.functions[0]->calls[index]->after.empty())
      continue;
    ++edges;
    table.functions[0]->calls[index]->after.clear();
    unsigned different = 0;
    for (uint64_t seed : {0, 1})
      different += outputsOf(table, adversary(seed)) != wanted;
    EXPECT_GE(different, 1u) << "call " << index;
  }
  EXPECT_EQ(edges, size_t(2 * microbatches));
}

TEST(Streams, TheAdversaryFindsABufferThatIsReusedTooEarly) {
  std::string wanted = expectedOutput();
  // g of micro-batch 1 where that of 0 is: the sum of 0 may still read it.
  Numbers numbers;
  ProgramT table = makeProgram(numbers);
  auto &calls = table.functions[0]->calls;
  uint64_t place = calls[numbers.make[0]]->arguments[2]->offset;
  calls[numbers.make[1]]->arguments[2]->offset = place;
  calls[numbers.sum[1]]->arguments[0]->offset = place;
  EXPECT_NE(outputsOf(table, adversary(0)), wanted);
}

TEST(Streams, StepsAllocateNothing) {
  std::vector<int64_t> counts(2, -1);
  ExecutorOptions options;
  options.profile = true;
  Status status = onTwoRanks(
      makeProgram(), options, {}, [&](Executor &executor, size_t function) {
        STRETTO_TRY(executor.world().everyone().barrier());
        AllocationCounter counter;
        for (int64_t step = 1; step <= 20; ++step)
          STRETTO_TRY(executor.execute(function, step));
        counts[executor.world().rank()] = counter.allocations();
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
  EXPECT_EQ(counts, std::vector<int64_t>(2, 0));
}

TEST(Streams, CountsAreExact) {
  ExecutorOptions options;
  options.profile = true;
  Status status = onTwoRanks(
      makeProgram(), options, {}, [](Executor &executor, size_t function) {
        for (int64_t step = 1; step <= 5; ++step)
          STRETTO_TRY(executor.execute(function, step));
        std::vector<TrafficEntry> traffic = executor.traffic();
        EXPECT_EQ(traffic.size(), 1u);
        EXPECT_EQ(traffic[0].calls, uint64_t(5 * microbatches));
        EXPECT_EQ(traffic[0].sentBytes, 5 * microbatches * matrix);
        for (const ProfileEntry &row : executor.profile()) {
          EXPECT_LE(row.asideSeconds, row.seconds);
          if (row.name == "64x64x64") { // on both streams
            EXPECT_EQ(row.count, uint64_t(5 * 2 * microbatches));
            EXPECT_GT(row.asideSeconds, 0);
            EXPECT_LT(row.asideSeconds, row.seconds);
          }
          if (row.kind == "collective")
            EXPECT_EQ(row.asideSeconds, row.seconds);
          if (row.kind == "fill" || row.kind == "copy")
            EXPECT_EQ(row.asideSeconds, 0);
        }
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Streams, ATraceHasBothStreams) {
  ExecutorOptions options;
  options.traceFrom = 2, options.traceTo = 3;
  Status status = onTwoRanks(
      makeProgram(), options, {}, [](Executor &executor, size_t function) {
        for (int64_t step = 1; step <= 3; ++step)
          STRETTO_TRY(executor.execute(function, step));
        std::vector<TraceSpan> spans = executor.trace();
        int64_t commands[2] = {}, waits[2] = {};
        double last[2] = {};
        for (const TraceSpan &span : spans) {
          (span.kind == "wait" ? waits : commands)[span.stream] += 1;
          EXPECT_LE(last[span.stream], span.begin);
          EXPECT_LE(span.begin, span.end);
          last[span.stream] = span.end;
          EXPECT_EQ(span.waitsFor.size(), span.kind == "wait" ? 1u : 0u);
        }
        EXPECT_EQ(commands[0], 2 * (2 * microbatches + 2));
        EXPECT_EQ(commands[1], 2 * 2 * microbatches);
        EXPECT_EQ(waits[0], 2 * microbatches);
        EXPECT_EQ(waits[1], 2 * microbatches);
        Communication all = communicationOf(spans);
        EXPECT_EQ(all.rows.size(), 1u);
        EXPECT_EQ(all.rows[0].cause, "g over dp");
        EXPECT_EQ(all.rows[0].count, uint64_t(2 * microbatches));
        EXPECT_EQ(all.rows[0].bytes, 2 * microbatches * matrix);
        EXPECT_GT(all.seconds, 0);
        EXPECT_LE(all.exposedSeconds, all.seconds);
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Streams, ARankThatLeavesIsNamedWhereItsStreamIsMissing) {
  CommOptions patient;
  patient.deadline = std::chrono::hours(1);
  Status status = onTwoRanks(
      makeProgram(), {}, patient, [](Executor &executor, size_t function) {
        return executor.world().rank() == 1 ? Status::ok()
                                            : executor.execute(function, 1);
      });
  EXPECT_NE(status.message().find("rank 1 ended before the others"),
            std::string::npos)
      << status.message();
}

TEST(Streams, ARankThatIsLateIsNamedAtTheDeadline) {
  CommOptions impatient;
  impatient.deadline = std::chrono::milliseconds(100);
  Status status = onTwoRanks(makeProgram(), {}, impatient,
                             [](Executor &executor, size_t function) {
                               if (executor.world().rank() == 1)
                                 while (executor.world().state())
                                   std::this_thread::yield();
                               return executor.execute(function, 1);
                             });
  EXPECT_NE(status.message().find("rank 1 did not come"), std::string::npos)
      << status.message();
}

TEST(Streams, ANanOfTheSecondStreamIsFound) {
  ExecutorOptions options;
  options.plant = PlantedNan{1, 2, "bucket.3", "s"};
  Status status = onTwoRanks(
      makeProgram(), options, {},
      [](Executor &executor, size_t function) -> Status {
        STRETTO_TRY(executor.execute(function, 1));
        TensorView out = *executor.output(function, "out");
        EXPECT_TRUE(std::isfinite(out.data<float>()[0]));
        STRETTO_TRY(executor.execute(function, 2));
        EXPECT_EQ(std::isfinite(out.data<float>()[0]),
                  executor.world().rank() == 0);
        STRETTO_ASSIGN(NonFiniteOrigin origin,
                       executor.findNonFinite(function, 2));
        EXPECT_EQ(origin.rank, 1);
        EXPECT_NE(origin.description.find("'s' of 'bucket.3' became nan"),
                  std::string::npos)
            << origin.description;
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Streams, TheSeedOfTheAdversaryIsANumber) {
  setenv("STRETTO_ADVERSARY", "12", 1);
  EXPECT_EQ(ExecutorOptions::fromEnvironment()->adversary, 12u);
  for (const char *bad : {"", "x", "-1", "3x"}) {
    setenv("STRETTO_ADVERSARY", bad, 1);
    EXPECT_EQ(ExecutorOptions::fromEnvironment().code(), Code::Usage) << bad;
  }
  unsetenv("STRETTO_ADVERSARY");
  EXPECT_FALSE(ExecutorOptions::fromEnvironment()->adversary);
}

//===----------------------------------------------------------------------===//
// Exposed time
//===----------------------------------------------------------------------===//

TraceSpan span(const char *kind, uint32_t stream, double begin, double end,
               std::vector<uint32_t> waitsFor = {}) {
  TraceSpan span;
  span.kind = kind;
  span.name = concat(kind, ": 8 bytes");
  span.stream = stream;
  span.begin = begin, span.end = end;
  span.waitsFor = std::move(waitsFor);
  return span;
}

TEST(Exposed, IsWhatStreamZeroStandsStillFor) {
  std::vector<TraceSpan> spans = {
      span("gemm", 0, 0, 10),        span("collective", 0, 10, 12), // whole
      span("wait", 0, 12, 20, {1}),  span("gemm", 0, 20, 30),
      span("wait", 0, 30, 40, {1}),  span("collective", 1, 3, 9), // hidden
      span("collective", 1, 9, 15),                               // from 12 on
      span("gemm", 1, 15, 16),       // no communication
      span("collective", 1, 17, 25), // up to 20
      span("wait", 1, 25, 38, {2}),  // stream 2 communicates from 32 to 36
      span("collective", 2, 32, 36),
  };
  for (size_t i = 0; i < spans.size(); ++i)
    if (spans[i].kind == "collective")
      spans[i].cause = concat("at ", spans[i].begin);
  Communication all = communicationOf(spans);
  EXPECT_DOUBLE_EQ(all.seconds, 2 + 6 + 6 + 8 + 4);
  EXPECT_DOUBLE_EQ(all.exposedSeconds, 2 + 3 + 3 + 4);
  EXPECT_DOUBLE_EQ(all.otherWaitSeconds, (8 - 3 - 3) + (10 - 4));
  std::map<std::string, double> exposed;
  for (const CommunicationRow &row : all.rows)
    exposed[row.cause] = row.exposedSeconds;
  std::map<std::string, double> wanted = {
      {"at 10", 2}, {"at 3", 0}, {"at 9", 3}, {"at 17", 3}, {"at 32", 4}};
  EXPECT_EQ(exposed, wanted);
  EXPECT_EQ(all.rows.front().cause, "at 32");
  EXPECT_EQ(all.rows.front().name, "collective");
}

} // namespace
} // namespace stretto::runtime::test
