//===- MeshTest.cpp - mesh arithmetic against enumeration -----------------===//
//
// The reference enumerates every rank with nested counters and splits axes into
// digits; the closed forms of Mesh must agree with it.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include <gtest/gtest.h>

namespace stretto::runtime::test {
namespace {

/// Coordinates of all ranks, by counting like an odometer.
std::vector<std::vector<int64_t>> odometer(const std::vector<int64_t> &sizes) {
  std::vector<std::vector<int64_t>> all;
  std::vector<int64_t> now(sizes.size(), 0);
  while (true) {
    all.push_back(now);
    size_t axis = sizes.size();
    while (axis > 0 && ++now[axis - 1] == sizes[axis - 1])
      now[--axis] = 0;
    if (axis == 0)
      return all;
  }
}

/// Digit of `index` that a sub-axis takes: the axis is written as pre x size x
/// rest, major to minor, and counted through.
int64_t digit(int64_t axisSize, const AxisRef &ref, int64_t index) {
  int64_t rest = axisSize / (int64_t(ref.pre()) * ref.size()), at = 0;
  for (uint32_t major = 0; major < ref.pre(); ++major)
    for (uint32_t middle = 0; middle < ref.size(); ++middle)
      for (int64_t minor = 0; minor < rest; ++minor)
        if (at++ == index)
          return middle;
  return -1;
}

const std::vector<int64_t> meshes[] = {{1},    {4},       {2, 3},
                                       {8, 6}, {2, 1, 4}, {3, 4, 2, 2}};

std::vector<AxisRef> allRefs(const std::vector<int64_t> &sizes) {
  std::vector<AxisRef> refs;
  for (uint32_t axis = 0; axis < sizes.size(); ++axis)
    for (uint32_t pre = 1; pre <= sizes[axis]; ++pre)
      for (uint32_t size = 1; pre * size <= sizes[axis]; ++size)
        if (sizes[axis] % (pre * size) == 0)
          refs.push_back(AxisRef(axis, pre, size));
  return refs;
}

/// Keeps a list of references alive as the Program's type.
struct Axes {
  flatbuffers::FlatBufferBuilder builder;
  const AxisRefs *refs;
  explicit Axes(const std::vector<AxisRef> &list) {
    builder.Finish(CreateGroup(builder, builder.CreateVectorOfStructs(list)));
    refs = flatbuffers::GetRoot<Group>(builder.GetBufferPointer())->axes();
  }
};

TEST(Mesh, CoordinatesOfAxesAndSubAxes) {
  for (const std::vector<int64_t> &sizes : meshes) {
    Mesh mesh(sizes);
    auto all = odometer(sizes);
    ASSERT_EQ(mesh.numRanks(), int64_t(all.size()));
    for (size_t rank = 0; rank < all.size(); ++rank) {
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        EXPECT_EQ(mesh.coordinate(int64_t(rank), int64_t(axis)),
                  all[rank][axis]);
      for (const AxisRef &ref : allRefs(sizes))
        EXPECT_EQ(mesh.coordinate(int64_t(rank), ref),
                  digit(sizes[ref.axis()], ref, all[rank][ref.axis()]));
    }
  }
}

/// Members of the rank's group: all ranks that agree in what is left when the
/// digits of `refs` are taken away, sorted by these digits.
std::vector<int64_t> bruteMembers(const std::vector<int64_t> &sizes,
                                  const std::vector<AxisRef> &refs,
                                  int64_t rank) {
  auto all = odometer(sizes);
  auto indexOf = [&](int64_t r) {
    int64_t index = 0;
    for (const AxisRef &ref : refs)
      index = index * ref.size() +
              digit(sizes[ref.axis()], ref, all[r][ref.axis()]);
    return index;
  };
  auto restOf = [&](int64_t r) {
    std::vector<int64_t> rest = all[r];
    for (const AxisRef &ref : refs) {
      int64_t minor = sizes[ref.axis()] / (int64_t(ref.pre()) * ref.size());
      rest[ref.axis()] -=
          digit(sizes[ref.axis()], ref, all[r][ref.axis()]) * minor;
    }
    return rest;
  };
  std::vector<std::pair<int64_t, int64_t>> found;
  for (size_t other = 0; other < all.size(); ++other)
    if (restOf(int64_t(other)) == restOf(rank))
      found.push_back({indexOf(int64_t(other)), int64_t(other)});
  std::sort(found.begin(), found.end());
  std::vector<int64_t> members;
  for (auto &[index, member] : found)
    members.push_back(member);
  return members;
}

TEST(Mesh, MembersAndMemberIndex) {
  const std::vector<int64_t> sizes = {4, 3, 4};
  const std::vector<std::vector<AxisRef>> lists = {
      {},
      {AxisRef(0, 1, 4)},
      {AxisRef(0, 2, 2)},
      {AxisRef(2, 1, 2)},
      {AxisRef(2, 1, 4), AxisRef(0, 1, 4)},
      {AxisRef(0, 2, 2), AxisRef(1, 1, 3)},
      {AxisRef(2, 2, 2), AxisRef(2, 1, 2)}, // the digits swapped
      {AxisRef(0, 1, 2), AxisRef(1, 1, 3), AxisRef(2, 2, 2)}};
  Mesh mesh(sizes);
  for (const std::vector<AxisRef> &list : lists) {
    Axes axes(list);
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      std::vector<int64_t> members = mesh.members(rank, axes.refs);
      EXPECT_EQ(members, bruteMembers(sizes, list, rank));
      EXPECT_EQ(members.at(mesh.memberIndex(rank, axes.refs)), rank);
      EXPECT_EQ(int64_t(members.size()), Mesh::product(axes.refs));
      for (int64_t shift = 0; shift < int64_t(members.size()); ++shift)
        EXPECT_EQ(members[mesh.sender(rank, axes.refs, shift)],
                  members[(mesh.memberIndex(rank, axes.refs) + shift) %
                          members.size()]);
    }
  }
}

/// A Program with one input of the given dimensions on a 4 x 3 mesh.
Result<std::shared_ptr<const Program>>
withTensor(std::vector<std::unique_ptr<DimensionT>> dims) {
  ProgramT program;
  program.version = programVersion;
  addAxis(program, "dp", 4);
  addAxis(program, "tp", 3);
  addRegion(program, Region::Inputs, 1 << 16);
  addFunction(program, "f")
      .inputs.push_back(binding("x", std::move(dims),
                                list(slot(Region::Inputs, 0, 1 << 16))));
  return load(program);
}

TEST(Mesh, BoxesCoverEveryElementOnceAmongFirstReplicas) {
  // 10 rows padded to 12 over tp and half of dp; 7 columns over the other half.
  auto program =
      withTensor(list(dimension(10, 12, {AxisRef(1, 1, 3), AxisRef(0, 2, 2)}),
                      dimension(7, 8, {AxisRef(0, 1, 2)}), dimension(2, 2)));
  ASSERT_TRUE(program) << program.message();
  const Mesh &mesh = (*program)->mesh();
  auto *dims = (*program)->findFunction("f")->inputs()->Get(0)->dims();
  std::vector<int> owners(10 * 7 * 2);
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    Box box = mesh.box(rank, dims);
    EXPECT_EQ(box.localElements(), 2 * 4 * 2);
    // The definition: member k owns [k P / n, (k + 1) P / n).
    int64_t dp = rank / 3, tp = rank % 3;
    int64_t row = tp * 2 + dp % 2, column = dp / 2;
    EXPECT_EQ(box.dims[0].begin, std::min<int64_t>(row * 2, 10));
    EXPECT_EQ(box.dims[0].end, std::min<int64_t>(row * 2 + 2, 10));
    EXPECT_EQ(box.dims[1].begin, column * 4);
    EXPECT_EQ(box.dims[1].end, std::min<int64_t>(column * 4 + 4, 7));
    EXPECT_EQ(box.dims[2].extent, 2);
    if (!mesh.isFirstReplica(rank, dims))
      continue;
    for (int64_t i = box.dims[0].begin; i < box.dims[0].end; ++i)
      for (int64_t j = box.dims[1].begin; j < box.dims[1].end; ++j)
        for (int64_t k = box.dims[2].begin; k < box.dims[2].end; ++k)
          ++owners[(i * 7 + j) * 2 + k];
  }
  EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
}

TEST(Mesh, FirstReplicaIsTheLowestRankOfEachBox) {
  auto program = withTensor(list(dimension(4, 4, {AxisRef(0, 2, 2)})));
  ASSERT_TRUE(program) << program.message();
  const Mesh &mesh = (*program)->mesh();
  auto *dims = (*program)->findFunction("f")->inputs()->Get(0)->dims();
  std::vector<int64_t> first;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (mesh.isFirstReplica(rank, dims))
      first.push_back(rank);
  EXPECT_EQ(first, (std::vector<int64_t>{0, 3}));
}

TEST(Mesh, ScalarsAreTheirFormula) {
  ProgramT program;
  program.version = programVersion;
  addAxis(program, "dp", 4);
  addAxis(program, "tp", 3);
  program.kernels = {"k"};
  SegmentT &segment = addSegment(program, "s");
  LaunchT launch;
  launch.scalars = list(scalar(100, {{Symbol::AxisIndex, 10, AxisRef(0, 2, 2)},
                                     {Symbol::AxisIndex, -7, AxisRef(1, 1, 3)},
                                     {Symbol::Microbatch, 1000},
                                     {Symbol::Step, 100000},
                                     {Symbol::Step, -1}}),
                        scalar(-1, {{Symbol::Seed, 3}, {Symbol::Instance, 5}}),
                        scalar(42, {}));
  addCommand(segment, std::move(launch));
  auto loaded = load(program);
  ASSERT_TRUE(loaded) << loaded.message();
  auto *scalars = (*loaded)
                      ->table()
                      .segments()
                      ->Get(0)
                      ->commands()
                      ->Get(0)
                      ->payload_as_Launch()
                      ->scalars();
  for (int64_t rank = 0; rank < 12; ++rank)
    for (int64_t step : {0, 1, 77}) {
      const uint64_t seed = 0xfedcba9876543210u, instance = 0x8000000000000001u;
      ScalarContext context = {rank, 3, step, seed, instance};
      auto value = [&](int i) {
        return (*loaded)->evaluate(scalars->Get(i), context);
      };
      EXPECT_EQ(value(0), 100 + 10 * (rank / 3 % 2) - 7 * (rank % 3) + 3000 +
                              99999 * step);
      EXPECT_EQ(uint64_t(value(1)), uint64_t(-1) + 3 * seed + 5 * instance);
      EXPECT_EQ(value(2), 42);
      EXPECT_EQ((*loaded)->evaluate(nullptr, context), 0);
    }
}

} // namespace
} // namespace stretto::runtime::test
