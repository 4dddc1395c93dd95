//===- ExecutorTest.cpp - a Program of two segments on four ranks ---------===//
//
// Mesh dp 2 x tp 2. The function "train" runs, per rank,
//
//   project: y = x w (w split by columns over tp), gathered over tp
//   combine: z = (10 tp + step) y + seed, summed over dp; an attention on z
//
// and must give what plain loops over the global values give.
//
//===----------------------------------------------------------------------===//

#include "AllocationCounter.h"
#include "ProgramBuilder.h"

#include "stretto/Runtime/Executor.h"
#include "stretto/Runtime/InProcess.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace stretto::runtime::test {
namespace {

constexpr int64_t batch = 8, rows = batch / 2, inner = 5, columns = 6,
                  mine = columns / 2, seed = 7;
constexpr uint64_t xBytes = rows * inner * 4, wBytes = inner * mine * 4,
                   yBytes = rows * mine * 4, zBytes = rows * columns * 4;
// One head of dimension 6 over a sequence of 4: q = k = v = z.
constexpr AttentionShape attentionShape = {false, 1, rows,    rows,
                                           1,     1, columns, false};
constexpr uint64_t workspaceBytes = attentionWorkspaceBytes(attentionShape);

void addProject(ProgramT &program, uint32_t tp) {
  SegmentT &segment = addSegment(program, "project");
  addArgument(segment, xBytes);
  addArgument(segment, wBytes);
  addArgument(segment, zBytes, Access::Write);
  segment.scratch_bytes = 128;
  GemmT gemm;
  gemm.m = rows, gemm.n = mine, gemm.k = inner;
  gemm.a_row = inner, gemm.b_row = mine, gemm.c_row = mine;
  gemm.a_col = gemm.b_col = gemm.c_col = 1;
  addCommand(segment, std::move(gemm), argument(0, xBytes), argument(1, wBytes),
             local(0, yBytes, Access::Write));
  CollectiveT gather;
  gather.kind = CollectiveKind::AllGather;
  gather.group = tp;
  gather.outer = rows, gather.inner = mine;
  addCommand(segment, std::move(gather), local(0, yBytes),
             argument(2, zBytes, Access::Write));
}

void addCombine(ProgramT &program, uint32_t dp) {
  SegmentT &segment = addSegment(program, "combine");
  addArgument(segment, zBytes, Access::ReadWrite);
  addArgument(segment, zBytes, Access::ReadWrite);
  addArgument(segment, 64, Access::ReadWrite);
  segment.scratch_bytes = 64 + workspaceBytes;
  LaunchT affine;
  affine.scalars = list(
      scalar(0, {{Symbol::AxisIndex, 10, AxisRef(1, 1, 2)}, {Symbol::Step, 1}}),
      scalar(0, {{Symbol::Seed, 1}}));
  addCommand(segment, std::move(affine), argument(0, zBytes),
             argument(0, zBytes, Access::Write));
  LaunchT count;
  count.kernel = 1;
  addCommand(segment, std::move(count), argument(2, 4, Access::ReadWrite));
  addCommand(segment, RecordT());
  CollectiveT sum;
  sum.group = dp;
  sum.inner = rows * columns;
  CommandT &reduce = addCommand(segment, std::move(sum), argument(0, zBytes),
                                argument(0, zBytes, Access::Write));
  (void)reduce;
  addCommand(segment, WaitT()).stream = 1;
  AttentionT attention;
  attention.batch = 1, attention.q_len = attention.kv_len = rows;
  attention.heads = attention.kv_heads = 1, attention.head_dim = columns;
  attention.scale = 1e-4;
  addCommand(segment, std::move(attention), argument(0, zBytes),
             argument(0, zBytes), argument(0, zBytes),
             argument(1, zBytes, Access::Write),
             local(0, rows * 4, Access::Write),
             local(64, workspaceBytes, Access::Write));
}

ProgramT makeProgram() {
  ProgramT program;
  program.version = programVersion;
  addAxis(program, "dp", 2);
  addAxis(program, "tp", 2);
  uint32_t dp = addGroup(program, {AxisRef(0, 1, 2)});
  uint32_t tp = addGroup(program, {AxisRef(1, 1, 2)});
  program.kernels = {"affine", "count"};
  program.streams = 2;
  addProject(program, tp);
  addCombine(program, dp);
  addRegion(program, Region::Parameters, 128);
  addRegion(program, Region::Inputs, 128);
  addRegion(program, Region::Outputs, 512);
  addRegion(program, Region::State, 64);
  addRegion(program, Region::Scratch, 1024 + workspaceBytes);
  program.recipe = std::make_unique<RecipeT>();
  program.recipe->seed = seed;

  FunctionT &train = addFunction(program, "train");
  std::vector<AxisRef> dpAxis = {AxisRef(0, 1, 2)}, tpAxis = {AxisRef(1, 1, 2)};
  train.inputs.push_back(binding(
      "x", list(dimension(batch, batch, dpAxis), dimension(inner, inner)),
      list(slot(Region::Inputs, 0, xBytes))));
  auto out = [&](const char *name, uint64_t offset) {
    return binding(name,
                   list(dimension(rows, rows), dimension(columns, columns)),
                   list(slot(Region::Outputs, offset, zBytes)));
  };
  train.outputs.push_back(out("z", 0));
  train.outputs.push_back(out("attended", 256));
  CallT &first = addCall(train, 0, slot(Region::Inputs, 0, xBytes),
                         slot(Region::Parameters, 0, wBytes),
                         slot(Region::Outputs, 0, zBytes));
  first.scratch = slot(Region::Scratch, 0, 128);
  first.instance = "layers.0";
  CallT &second =
      addCall(train, 1, slot(Region::Outputs, 0, zBytes),
              slot(Region::Outputs, 256, zBytes), slot(Region::State, 0, 64));
  second.scratch = slot(Region::Scratch, 128, 64 + workspaceBytes);
  auto w = std::make_unique<ParameterT>();
  w->name = "w";
  w->dims = list(dimension(inner, inner), dimension(columns, columns, tpAxis));
  w->parameter = slot(Region::Parameters, 0, wBytes);
  program.parameters.push_back(std::move(w));
  return program;
}

float xAt(int64_t i, int64_t j) { return float(i) - 2 * float(j); }
float wAt(int64_t i, int64_t j) { return 0.5f * float(i) + float(j % 3) - 1; }

/// z of rank (dp, tp) in a step, from the global values. Rows of both dp ranks
/// are added, as "combine" sums over dp.
std::vector<double> expectedZ(int64_t tp, int64_t step) {
  std::vector<double> z(rows * columns);
  for (int64_t dp = 0; dp < 2; ++dp)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        double y = 0;
        for (int64_t k = 0; k < inner; ++k)
          y += double(xAt(dp * rows + i, k)) * double(wAt(k, j));
        z[i * columns + j] += double(10 * tp + step) * y + seed;
      }
  return z;
}

std::vector<double> expectedAttention(const std::vector<double> &z) {
  std::vector<double> out(z.size());
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> p(rows);
    double sum = 0;
    for (int64_t j = 0; j < rows; ++j) {
      for (int64_t d = 0; d < columns; ++d)
        p[j] += 1e-4 * z[i * columns + d] * z[j * columns + d];
      sum += p[j] = std::exp(p[j]);
    }
    for (int64_t j = 0; j < rows; ++j)
      for (int64_t d = 0; d < columns; ++d)
        out[i * columns + d] += p[j] / sum * z[j * columns + d];
  }
  return out;
}

/// Fills the rank's part of x and w by logical coordinates.
Status fillTensors(Executor &executor, size_t function) {
  STRETTO_ASSIGN(TensorView x, executor.input(function, "x"));
  for (int64_t i = x.box.dims[0].begin, at = 0; i < x.box.dims[0].end; ++i)
    for (int64_t j = 0; j < inner; ++j)
      x.data<float>()[at++] = xAt(i, j);
  TensorView w = executor.parameters().at(0).value;
  for (int64_t i = 0, at = 0; i < inner; ++i)
    for (int64_t j = w.box.dims[1].begin; j < w.box.dims[1].end; ++j)
      w.data<float>()[at++] = wAt(i, j);
  return Status::ok();
}

void expectNear(const TensorView &got, const std::vector<double> &wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got.data<float>()[i], wanted[i],
                1e-4 * (1 + std::fabs(wanted[i])))
        << got.name << " " << i;
}

Result<MappedFile> kernels() { return MappedFile::open(STRETTO_TEST_KERNELS); }

/// Prepares the Program on each of four ranks and runs body(executor, train).
Status onFourRanks(const ProgramT &table, const ExecutorOptions &options,
                   const std::function<Status(Executor &, size_t)> &body) {
  STRETTO_ASSIGN(auto program, load(table));
  STRETTO_ASSIGN(MappedFile image, kernels());
  return runInProcess(4, {}, [&](World &world) {
    STRETTO_ASSIGN(auto device, createCpuDevice());
    auto executor = createExecutor(program, world, *device, options);
    STRETTO_TRY(executor->prepare());
    STRETTO_TRY(executor->initialize(image.bytes()));
    STRETTO_ASSIGN(size_t function, executor->function("train"));
    STRETTO_TRY(fillTensors(*executor, function));
    return body(*executor, function);
  });
}

TEST(Executor, RunsTheProgramOnFourRanks) {
  Status status = onFourRanks(
      makeProgram(), {}, [](Executor &executor, size_t function) -> Status {
        int64_t tp = executor.world().rank() % 2;
        for (int64_t step : {1, 2, 5}) {
          STRETTO_TRY(executor.execute(function, step));
          STRETTO_ASSIGN(TensorView z, executor.output(function, "z"));
          STRETTO_ASSIGN(TensorView attended,
                         executor.output(function, "attended"));
          std::vector<double> wanted = expectedZ(tp, step);
          expectNear(z, wanted);
          expectNear(attended, expectedAttention(wanted));
        }
        EXPECT_EQ(*static_cast<int32_t *>(executor.region(Region::State)), 3);
        EXPECT_EQ(executor.function("eval").code(), Code::Rejected);
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Executor, StepsAllocateNothing) {
  for (bool profile : {false, true}) {
    ExecutorOptions options;
    options.profile = profile;
    std::vector<int64_t> counts(4, -1);
    Status status = onFourRanks(
        makeProgram(), options, [&](Executor &executor, size_t function) {
          AllocationCounter counter;
          for (int64_t step = 1; step <= 20; ++step)
            STRETTO_TRY(executor.execute(function, step));
          counts[executor.world().rank()] = counter.allocations();
          return Status::ok();
        });
    EXPECT_TRUE(status) << status.message();
    EXPECT_EQ(counts, std::vector<int64_t>(4, 0));
  }
}

TEST(Executor, TheCounterCounts) {
  if (!AllocationCounter::works())
    GTEST_SKIP() << "a sanitizer has its own malloc";
  AllocationCounter counter;
  std::vector<int> *some = new std::vector<int>(10);
  EXPECT_EQ(counter.allocations(), 2);
  delete some;
}

TEST(Executor, CountsTimeAndBytes) {
  ExecutorOptions options;
  options.profile = true;
  Status status = onFourRanks(
      makeProgram(), options,
      [](Executor &executor, size_t function) -> Status {
        STRETTO_TRY(executor.execute(function, 1));
        executor.resetCounters();
        for (int64_t step : {2, 3, 4})
          STRETTO_TRY(executor.execute(function, step));
        std::map<std::string, ProfileEntry> rows_;
        for (const ProfileEntry &row : executor.profile())
          rows_[row.kind + " " + row.name] = row;
        EXPECT_EQ(rows_.size(), 7u); // with the wait of stream 1
        EXPECT_EQ(rows_.at("kernel affine").count, 3u);
        EXPECT_EQ(rows_.at("gemm 4x3x5").flops, 3 * 2.0 * rows * mine * inner);
        EXPECT_EQ(rows_.at("gemm 4x3x5").function, "train");
        EXPECT_GT(rows_.at("gemm 4x3x5").seconds, 0);
        EXPECT_GT(rows_.at("gemm 4x3x5").cpuSeconds, 0);
        EXPECT_EQ(rows_.at("gemm 4x3x5").largest, uint64_t(3 * rows * inner));
        std::map<CollectiveKind, TrafficEntry> traffic;
        for (const TrafficEntry &row : executor.traffic())
          traffic[row.kind] = row;
        EXPECT_EQ(traffic.size(), 2u);
        const TrafficEntry &gather = traffic[CollectiveKind::AllGather];
        EXPECT_EQ(gather.function, "train");
        EXPECT_EQ(gather.calls, 3u);
        EXPECT_EQ(gather.sentBytes, 3 * yBytes);
        EXPECT_EQ(traffic[CollectiveKind::AllReduce].sentBytes, 3 * zBytes);
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Executor, SeedComesFromTheRecipeOrTheOptions) {
  ExecutorOptions options;
  options.seed = 1000;
  Status status = onFourRanks(
      makeProgram(), options,
      [](Executor &executor, size_t function) -> Status {
        EXPECT_EQ(executor.seed(), 1000u);
        STRETTO_TRY(executor.execute(function, 1));
        STRETTO_ASSIGN(TensorView z, executor.output(function, "z"));
        std::vector<double> wanted = expectedZ(executor.world().rank() % 2, 1);
        for (double &value : wanted)
          value += 2 * (1000 - seed);
        expectNear(z, wanted);
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Executor, TransientRegionsShareTheEndOfTheArena) {
  ProgramT program = makeProgram();
  addRegion(program, Region::Gradients, 4096 + workspaceBytes);
  Status status =
      onFourRanks(std::move(program), {}, [](Executor &executor, size_t) {
        EXPECT_EQ(executor.arenaBytes(),
                  128 + 128 + 512 + 64 + 4096 + workspaceBytes);
        EXPECT_EQ(executor.region(Region::Scratch),
                  executor.region(Region::Gradients));
        EXPECT_EQ(executor.region(Region::Working),
                  executor.region(Region::Activations));
        char *first = static_cast<char *>(executor.region(Region::Parameters));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
        EXPECT_EQ(static_cast<char *>(executor.region(Region::State)) - first,
                  128);
        EXPECT_EQ(static_cast<char *>(executor.region(Region::Scratch)) - first,
                  128 + 128 + 512 + 64);
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Executor, IndependentCollectivesGoTogether) {
  ProgramT program = makeProgram();
  SegmentT &segment = *program.segments[1];
  // After z is summed over dp: a sum of what "attended" held, which does not
  // matter, and a sum of z once more, which needs the first.
  for (uint32_t place : {0, 1}) {
    CollectiveT sum;
    sum.inner = rows * columns;
    addCommand(segment, std::move(sum), argument(1 - place, zBytes),
               argument(1 - place, zBytes, Access::Write));
    auto &commands = segment.commands;
    std::rotate(commands.begin() + 4 + place, commands.end() - 1,
                commands.end());
  }
  ExecutorOptions options;
  options.profile = true;
  Status status = onFourRanks(
      program, options, [](Executor &executor, size_t function) -> Status {
        for (int64_t step : {1, 2}) {
          STRETTO_TRY(executor.execute(function, step));
          STRETTO_ASSIGN(TensorView z, executor.output(function, "z"));
          std::vector<double> wanted =
              expectedZ(executor.world().rank() % 2, step);
          for (double &value : wanted)
            value *= 2;
          expectNear(z, wanted);
        }
        std::vector<std::string> sums;
        for (const ProfileEntry &row : executor.profile())
          if (row.name.rfind("AllReduce", 0) == 0)
            sums.push_back(row.name + " x " + std::to_string(row.count));
        std::sort(sums.begin(), sums.end());
        EXPECT_EQ(sums, (std::vector<std::string>{
                            "AllReduce F32 group 0 of 2: 2 buffers, 192 bytes "
                            "x 2",
                            "AllReduce F32 group 0 of 2: 96 bytes x 2"}));
        for (const TrafficEntry &row : executor.traffic())
          if (row.kind == CollectiveKind::AllReduce) {
            EXPECT_EQ(row.calls, 6u);
            EXPECT_EQ(row.sentBytes, 6 * zBytes);
          }
        return Status::ok();
      });
  EXPECT_TRUE(status) << status.message();
}

TEST(Executor, OverlappingCollectivesAreRefused) {
  ProgramT program = makeProgram();
  // The gathered result now lies where the source is.
  program.segments[0]->scratch_bytes = 256;
  program.functions[0]->calls[0]->scratch->bytes = 256;
  program.segments[0]->commands[1]->operands[1] =
      local(16, zBytes, Access::Write);
  Status status = onFourRanks(program, {}, [](Executor &, size_t) {
    ADD_FAILURE() << "initialize must fail";
    return Status::ok();
  });
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_NE(status.message().find("overlap"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("project"), std::string::npos);
}

TEST(Executor, MissingKernelsAreNamed) {
  ProgramT program = makeProgram();
  program.kernels[1] = "no_such_kernel";
  Status status =
      onFourRanks(program, {}, [](Executor &, size_t) { return Status::ok(); });
  EXPECT_EQ(status.code(), Code::Rejected);
  EXPECT_NE(status.message().find("'no_such_kernel'"), std::string::npos);
}

TEST(Executor, WrongNumberOfRanksIsRefused) {
  auto program = load(makeProgram());
  ASSERT_TRUE(program) << program.message();
  Status status = runInProcess(3, {}, [&](World &world) {
    STRETTO_ASSIGN(auto device, createCpuDevice());
    return createExecutor(*program, world, *device)->prepare();
  });
  EXPECT_EQ(status.code(), Code::Usage);
}

TEST(Executor, RanksWithDifferentProgramsAreStopped) {
  ProgramT other = makeProgram();
  other.model = "another";
  auto programs = {load(makeProgram()), load(other)};
  Status status = runInProcess(4, {}, [&](World &world) {
    STRETTO_ASSIGN(auto device, createCpuDevice());
    const auto &mineOf = *(programs.begin() + (world.rank() == 2));
    return createExecutor(*mineOf, world, *device)->prepare();
  });
  EXPECT_EQ(status.code(), Code::RunFailed);
  EXPECT_NE(status.message().find("rank 2 has another Program"),
            std::string::npos)
      << status.message();
}

TEST(Executor, AFailureOfOneRankEndsTheStepOfAll) {
  Status status = onFourRanks(
      makeProgram(), {}, [](Executor &executor, size_t function) -> Status {
        for (int64_t step = 1; step <= 3; ++step) {
          if (executor.world().rank() == 3 && step == 2)
            return failure(Code::RunFailed, "gradient is NaN");
          STRETTO_TRY(executor.execute(function, step));
        }
        return Status::ok();
      });
  EXPECT_EQ(status.message(), "rank 3: gradient is NaN");
}

} // namespace
} // namespace stretto::runtime::test
