//===- CollectiveTest.cpp - collectives against naive loops ---------------===//
//
// Every collective, over groups of one to six members on one to three axes with
// sub-axes, against a plain loop over all members' data in member order.
//
//===----------------------------------------------------------------------===//

#include "stretto/Runtime/InProcess.h"
#include "stretto/Runtime/Mesh.h"
#include "stretto/Runtime/Program.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <mutex>
#include <random>

namespace stretto::runtime {
namespace {

using namespace stretto::program;

/// Deterministic contribution of a rank, of very different magnitudes, so that
/// the order of a sum shows in its bits.
template <typename T> T contribution(int64_t rank, int64_t element) {
  std::mt19937 random(uint32_t(rank * 7919 + element));
  double value = std::uniform_real_distribution<double>(-1, 1)(random);
  if (std::is_integral<T>::value)
    return T(value * 1000);
  return T(value * std::pow(10.0, double(random() % 6)));
}

/// Runs one collective on all ranks of `mesh` in the groups of `axes`; results
/// and bytes sent by rank.
template <typename T> struct Outcome {
  std::vector<std::vector<T>> inputs, results;
  std::vector<uint64_t> sent;
};

template <typename T>
Outcome<T> runEverywhere(const Mesh &mesh, const AxisRefs *axes,
                         const CollectiveShape &shape, bool inPlace = false,
                         const CommOptions &options = {}) {
  Outcome<T> outcome;
  size_t ranks = size_t(mesh.numRanks());
  outcome.inputs.resize(ranks);
  outcome.results.resize(ranks);
  outcome.sent.resize(ranks);
  Status status = runInProcess(mesh.numRanks(), options, [&](World &world) {
    int64_t rank = world.rank();
    STRETTO_ASSIGN(auto group, world.connect(mesh.members(rank, axes)));
    std::vector<T> source(shape.sourceElements(group->size()));
    for (size_t i = 0; i < source.size(); ++i)
      source[i] = contribution<T>(rank, int64_t(i));
    outcome.inputs[rank] = source;
    std::vector<T> target(shape.targetElements(group->size()));
    T *result = inPlace ? source.data() : target.data();
    // Twice: the second must not be disturbed by the first.
    for (int repeat = 0; repeat < 2; ++repeat) {
      uint64_t sent = 0;
      if (inPlace)
        source = outcome.inputs[rank];
      STRETTO_TRY(group->run(shape, source.data(), result, sent));
      outcome.sent[rank] = sent;
    }
    outcome.results[rank] = inPlace ? source : target;
    return Status::ok();
  });
  EXPECT_TRUE(status) << status.message();
  return outcome;
}

template <typename T> T combine(ReduceKind kind, T a, T b) {
  switch (kind) {
  case ReduceKind::Sum:
    return T(a + b);
  case ReduceKind::Prod:
    return T(a * b);
  case ReduceKind::Max:
    return a > b || a != a ? a : b;
  case ReduceKind::Min:
    return a < b || a != a ? a : b;
  }
  return a;
}

/// What member `me` must have, from the inputs of all members in order.
template <typename T>
std::vector<T> expected(const CollectiveShape &s,
                        const std::vector<const std::vector<T> *> &in,
                        int64_t me) {
  int64_t n = int64_t(in.size());
  std::vector<T> out(s.targetElements(n));
  auto reduceAll = [&](int64_t index) {
    T total = (*in[0])[index];
    for (int64_t j = 1; j < n; ++j)
      total = combine(s.reduce, total, (*in[j])[index]);
    return total;
  };
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t m = 0; m < s.middle; ++m)
        for (int64_t i = 0; i < s.inner; ++i)
          switch (s.kind) {
          case CollectiveKind::AllReduce:
            out[o * s.inner + i] = reduceAll(o * s.inner + i);
            break;
          case CollectiveKind::AllGather:
            out[(o * n + j) * s.inner + i] = (*in[j])[o * s.inner + i];
            break;
          case CollectiveKind::ReduceScatter:
            out[o * s.inner + i] = reduceAll((o * n + me) * s.inner + i);
            break;
          case CollectiveKind::Permute: // has a test of its own
            break;
          case CollectiveKind::AllToAll:
            out[((o * s.middle + m) * n + j) * s.inner + i] =
                (*in[j])[((o * n + me) * s.middle + m) * s.inner + i];
            break;
          }
  return out;
}

struct GroupCase {
  std::vector<int64_t> mesh;
  std::vector<AxisRef> axes;
};

/// (axis, pre, size): whole axes and sub-axes, orders that are not the mesh's.
const GroupCase groupCases[] = {
    {{4}, {}},
    {{1}, {AxisRef(0, 1, 1)}},
    {{2}, {AxisRef(0, 1, 2)}},
    {{2, 3}, {AxisRef(1, 1, 3)}},
    {{2, 3}, {AxisRef(1, 1, 3), AxisRef(0, 1, 2)}},
    {{4, 2}, {AxisRef(0, 1, 2)}},
    {{4, 2}, {AxisRef(0, 2, 2), AxisRef(1, 1, 2)}},
    {{5}, {AxisRef(0, 1, 5)}},
    {{2, 2, 2}, {AxisRef(2, 1, 2), AxisRef(0, 1, 2)}},
    {{8}, {AxisRef(0, 2, 2)}},
};

template <typename T>
void checkAll(const GroupCase &groupCase, const CollectiveShape &shape,
              bool inPlace = false) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(
      CreateGroup(builder, builder.CreateVectorOfStructs(groupCase.axes)));
  const Group *group = flatbuffers::GetRoot<Group>(builder.GetBufferPointer());
  Mesh mesh(groupCase.mesh);
  Outcome<T> outcome = runEverywhere<T>(mesh, group->axes(), shape, inPlace);
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    std::vector<const std::vector<T> *> inputs;
    int64_t me = -1;
    for (int64_t member : mesh.members(rank, group->axes())) {
      if (member == rank)
        me = int64_t(inputs.size());
      inputs.push_back(&outcome.inputs[member]);
    }
    ASSERT_EQ(me, mesh.memberIndex(rank, group->axes()));
    std::vector<T> wanted = expected(shape, inputs, me);
    ASSERT_EQ(wanted.size(), outcome.results[rank].size());
    // Bit for bit: the naive loop adds in member order as well.
    EXPECT_EQ(0, std::memcmp(wanted.data(), outcome.results[rank].data(),
                             wanted.size() * sizeof(T)))
        << EnumNameCollectiveKind(shape.kind) << " rank " << rank;
  }
}

const CollectiveKind allKinds[] = {
    CollectiveKind::AllReduce, CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll};

TEST(Collective, EqualsTheNaiveLoopInEveryGroup) {
  for (const GroupCase &groupCase : groupCases)
    for (CollectiveKind kind : allKinds) {
      checkAll<float>(groupCase, {kind, ReduceKind::Sum, DType::F32, 3, 2, 5});
      checkAll<float>(groupCase,
                      {kind, ReduceKind::Sum, DType::F32, 1, 1, 2500});
    }
}

TEST(Collective, InPlaceAllReduce) {
  for (const GroupCase &groupCase : groupCases)
    checkAll<float>(
        groupCase,
        {CollectiveKind::AllReduce, ReduceKind::Sum, DType::F32, 2, 1, 1337},
        /*inPlace=*/true);
}

TEST(Collective, EveryTypeAndReduction) {
  const GroupCase four = {{4}, {AxisRef(0, 1, 4)}};
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter})
    for (ReduceKind reduce : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min,
                              ReduceKind::Prod}) {
      checkAll<float>(four, {kind, reduce, DType::F32, 2, 1, 33});
      checkAll<double>(four, {kind, reduce, DType::F64, 2, 1, 33});
      checkAll<int32_t>(four, {kind, reduce, DType::I32, 2, 1, 5});
      checkAll<int64_t>(four, {kind, reduce, DType::I64, 2, 1, 33});
    }
  checkAll<int8_t>(
      four, {CollectiveKind::AllGather, ReduceKind::Sum, DType::I8, 2, 1, 7});
}

float fromBFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

TEST(Collective, BFloatSumsRoundOnce) {
  // 1 + 3 * 2^-9: each addend alone is lost when every partial sum is rounded
  // to 8 bits; the exact sum rounds up to 1 + 2^-7.
  const uint16_t one = 0x3f80, tiny = 0x3b00;
  std::vector<uint16_t> results(4);
  Status status = runInProcess(4, {}, [&](World &world) {
    uint16_t value = world.rank() == 0 ? one : tiny;
    uint64_t sent = 0;
    CollectiveShape shape;
    shape.dtype = DType::BF16;
    shape.inner = 1;
    return world.everyone().run(shape, &value, &results[world.rank()], sent);
  });
  ASSERT_TRUE(status) << status.message();
  ASSERT_EQ(fromBFloat(tiny), std::ldexp(1.0f, -9));
  for (uint16_t result : results)
    EXPECT_EQ(fromBFloat(result), 1.0f + std::ldexp(1.0f, -7));
}

TEST(Collective, MaxAndMinKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceKind reduce : {ReduceKind::Max, ReduceKind::Min})
    for (int64_t culprit = 0; culprit < 3; ++culprit) {
      std::vector<std::vector<float>> results(3, std::vector<float>(40));
      Status status = runInProcess(3, {}, [&](World &world) {
        std::vector<float> values(40, float(world.rank()));
        if (world.rank() == culprit)
          values[17] = nan;
        uint64_t sent = 0;
        CollectiveShape shape;
        shape.reduce = reduce;
        shape.inner = 40;
        return world.everyone().run(shape, values.data(),
                                    results[world.rank()].data(), sent);
      });
      ASSERT_TRUE(status) << status.message();
      for (const std::vector<float> &result : results) {
        EXPECT_TRUE(std::isnan(result[17]));
        EXPECT_EQ(result[16], reduce == ReduceKind::Max ? 2.0f : 0.0f);
      }
    }
}

TEST(Collective, BytesSentAreTheClosedForms) {
  const int64_t n = 4, outer = 3, middle = 2, inner = 16;
  Mesh mesh({n});
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(
      CreateGroup(builder, builder.CreateVectorOfStructs(std::vector<AxisRef>{
                               AxisRef(0, 1, uint32_t(n))})));
  const AxisRefs *axes =
      flatbuffers::GetRoot<Group>(builder.GetBufferPointer())->axes();
  auto sent = [&](CollectiveKind kind) {
    return runEverywhere<float>(
               mesh, axes,
               {kind, ReduceKind::Sum, DType::F32, outer, middle, inner})
        .sent;
  };
  uint64_t block = outer * inner * 4;
  EXPECT_EQ(sent(CollectiveKind::AllReduce),
            std::vector<uint64_t>(n, 2 * (n - 1) * block / n));
  EXPECT_EQ(sent(CollectiveKind::AllGather),
            std::vector<uint64_t>(n, (n - 1) * block));
  EXPECT_EQ(sent(CollectiveKind::ReduceScatter),
            std::vector<uint64_t>(n, (n - 1) * block));
  EXPECT_EQ(sent(CollectiveKind::AllToAll),
            std::vector<uint64_t>(n, (n - 1) * middle * block));
}

TEST(Collective, PermuteBringsTheSendersBlockAndCountsWhatMoves) {
  const std::vector<int64_t> senders = {0, 3, 1, 2}; // 0 keeps its own
  std::vector<std::vector<float>> results(4, std::vector<float>(6));
  std::vector<uint64_t> sent(4);
  Status status = runInProcess(4, {}, [&](World &world) {
    int64_t rank = world.rank();
    std::vector<float> mine(6, float(rank) + 0.5f);
    CollectiveTask task;
    task.shape = {
        CollectiveKind::Permute, ReduceKind::Sum, DType::F32, 2, 1, 3};
    task.source = mine.data();
    task.target = results[rank].data();
    task.sender = senders[rank];
    return world.everyone().run(&task, 1, sent[rank]);
  });
  ASSERT_TRUE(status) << status.message();
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(results[rank],
              std::vector<float>(6, float(senders[rank]) + 0.5f));
  EXPECT_EQ(sent, (std::vector<uint64_t>{0, 24, 24, 24}));
}

TEST(Collective, PermuteWithoutASenderIsAnError) {
  Status status = runInProcess(2, {}, [&](World &world) {
    float mine = 1, other = 2;
    uint64_t sent = 0;
    CollectiveShape shape;
    shape.kind = CollectiveKind::Permute;
    shape.inner = 1;
    return world.everyone().run(shape, &mine, &other, sent);
  });
  EXPECT_FALSE(status);
  EXPECT_NE(status.message().find("from member -1 of 2"), std::string::npos)
      << status.message();
}

TEST(Collective, SeveralAtATimeGiveTheSameBits) {
  const std::vector<int64_t> sizes = {1, 7, 3000, 64};
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter}) {
    Status status = runInProcess(3, {}, [&](World &world) -> Status {
      Communicator &group = world.everyone();
      std::vector<CollectiveTask> tasks(sizes.size());
      std::vector<std::vector<float>> sources, together, alone;
      uint64_t sentTogether = 0, sentAlone = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        tasks[i].shape.kind = kind;
        tasks[i].shape.inner = sizes[i];
        sources.emplace_back(tasks[i].shape.sourceElements(3));
        for (size_t j = 0; j < sources[i].size(); ++j)
          sources[i][j] = contribution<float>(world.rank(), int64_t(i + 9 * j));
        together.emplace_back(tasks[i].shape.targetElements(3));
        alone.push_back(together.back());
      }
      for (size_t i = 0; i < sizes.size(); ++i) {
        tasks[i].source = sources[i].data();
        tasks[i].target = together[i].data();
        STRETTO_TRY(group.run(tasks[i].shape, sources[i].data(),
                              alone[i].data(), sentAlone));
      }
      STRETTO_TRY(group.run(tasks.data(), tasks.size(), sentTogether));
      EXPECT_EQ(together, alone) << EnumNameCollectiveKind(kind);
      EXPECT_EQ(sentTogether, sentAlone) << EnumNameCollectiveKind(kind);
      return Status::ok();
    });
    EXPECT_TRUE(status) << status.message();
  }
}

TEST(Collective, DelaysChangeNothing) {
  const GroupCase six = {{2, 3}, {AxisRef(1, 1, 3), AxisRef(0, 1, 2)}};
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(CreateGroup(builder, builder.CreateVectorOfStructs(six.axes)));
  const AxisRefs *axes =
      flatbuffers::GetRoot<Group>(builder.GetBufferPointer())->axes();
  CollectiveShape shape;
  shape.outer = 4;
  shape.inner = 100;
  auto plain = runEverywhere<float>(Mesh(six.mesh), axes, shape);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    CommOptions options;
    options.delaySeed = seed;
    options.maxDelayMicroseconds = 300;
    auto delayed =
        runEverywhere<float>(Mesh(six.mesh), axes, shape, false, options);
    EXPECT_EQ(plain.results, delayed.results) << "delay seed " << seed;
  }
}

TEST(Collective, HostConveniences) {
  Status status = runInProcess(3, {}, [](World &world) {
    double values[2] = {double(world.rank()), 1.0};
    STRETTO_TRY(world.everyone().sum(values, 2));
    EXPECT_EQ(values[0], 3.0);
    EXPECT_EQ(values[1], 3.0);
    char mine = char('a' + world.rank()), all[3];
    STRETTO_TRY(world.everyone().gather(&mine, all, 1));
    EXPECT_EQ(std::string(all, 3), "abc");
    return world.everyone().barrier();
  });
  EXPECT_TRUE(status) << status.message();
}

} // namespace
} // namespace stretto::runtime
