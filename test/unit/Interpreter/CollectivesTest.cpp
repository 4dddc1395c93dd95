//===- CollectivesTest.cpp - collectives against brute force --------------===//
//
// On a 2 x 3 mesh and on sub-axes of an axis of 4: what every rank must hold is
// computed here from member lists written by hand.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

using namespace stretto;
using namespace stretto::interp;

using Groups = std::vector<std::vector<int>>;

namespace {
struct Case {
  std::string mesh, axes;
  Groups groups; // members in order
  int ranks;
};
} // namespace

static const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"dp = 2, tp = 3", "{dp}", {{0, 3}, {1, 4}, {2, 5}}, 6},
      {"dp = 2, tp = 3", "{tp}", {{0, 1, 2}, {3, 4, 5}}, 6},
      {"dp = 2, tp = 3", "{dp, tp}", {{0, 1, 2, 3, 4, 5}}, 6},
      {"dp = 2, tp = 3", "{tp, dp}", {{0, 3, 1, 4, 2, 5}}, 6},
      {"dp = 2, tp = 4", "{tp:(1)2}", {{0, 2}, {1, 3}, {4, 6}, {5, 7}}, 8},
      {"dp = 2, tp = 4", "{tp:(2)2}", {{0, 1}, {2, 3}, {4, 5}, {6, 7}}, 8},
      {"dp = 2, tp = 4", "{tp:(2)2, dp}", {{0, 4, 1, 5}, {2, 6, 3, 7}}, 8},
  };
  return all;
}

static std::string shapeOf(llvm::ArrayRef<int64_t> shape) {
  return "tensor<" + shapeText(shape) + "xf32>";
}

static RankTensors runCollective(const Case &c, const std::string &op,
                                 const std::string &more,
                                 llvm::ArrayRef<int64_t> from,
                                 llvm::ArrayRef<int64_t> to,
                                 const RankTensors &values) {
  std::string group = "#stretto.group<mesh<" + c.mesh + ">, " + c.axes + ">";
  TestProgram program("module attributes {stretto.mesh = #stretto.mesh<" +
                      c.mesh + ">} {" +
                      oneOp("%x: " + shapeOf(from),
                            "stretto." + op + " %x {group = " + group + more +
                                "} : " + shapeOf(from) + " -> " + shapeOf(to),
                            shapeOf(to)) +
                      "}");
  auto results = program.run("f", {values}, program.mesh());
  return results.empty() ? RankTensors() : results[0];
}

static RankTensors different(const Case &c, llvm::ArrayRef<int64_t> shape) {
  RankTensors values;
  for (int rank = 0; rank < c.ranks; ++rank)
    values.push_back(randoms(shape, 100 + rank));
  return values;
}

TEST(Collectives, AllReduceIsTheReductionOfTheMembers) {
  for (const Case &c : cases()) {
    RankTensors x = different(c, {2, 3});
    RankTensors sums =
        runCollective(c, "all_reduce", ", kind = #stretto<reduce_kind sum>",
                      {2, 3}, {2, 3}, x);
    RankTensors largest =
        runCollective(c, "all_reduce", ", kind = #stretto<reduce_kind max>",
                      {2, 3}, {2, 3}, x);
    for (const std::vector<int> &group : c.groups)
      for (int rank : group)
        for (int e = 0; e < 6; ++e) {
          double sum = 0, max = -1e300;
          for (int member : group) {
            sum += x[member].getFloats()[e];
            max = std::max(max, x[member].getFloats()[e]);
          }
          EXPECT_NEAR(sums[rank].getFloats()[e], sum, 1e-12) << c.axes;
          EXPECT_EQ(largest[rank].getFloats()[e], max) << c.axes;
        }
  }
}

TEST(Collectives, AllGatherConcatenatesInMemberOrder) {
  for (const Case &c : cases()) {
    int64_t n = c.groups[0].size();
    RankTensors x = different(c, {2, 3});
    RankTensors y = runCollective(c, "all_gather", ", dim = 1 : i64", {2, 3},
                                  {2, 3 * n}, x);
    for (const std::vector<int> &group : c.groups)
      for (int rank : group)
        for (int64_t i = 0; i < 2; ++i)
          for (int64_t j = 0; j < 3 * n; ++j)
            EXPECT_EQ(y[rank].getFloats()[i * 3 * n + j],
                      x[group[j / 3]].getFloats()[i * 3 + j % 3])
                << c.axes;
  }
}

TEST(Collectives, ReduceScatterGivesMemberKBlockK) {
  for (const Case &c : cases()) {
    int64_t n = c.groups[0].size();
    RankTensors x = different(c, {2 * n, 3});
    RankTensors y =
        runCollective(c, "reduce_scatter",
                      ", kind = #stretto<reduce_kind sum>, dim = 0 : i64",
                      {2 * n, 3}, {2, 3}, x);
    for (const std::vector<int> &group : c.groups)
      for (size_t k = 0; k < group.size(); ++k)
        for (int64_t e = 0; e < 6; ++e) {
          double sum = 0;
          for (int member : group)
            sum += x[member].getFloats()[k * 6 + e];
          EXPECT_NEAR(y[group[k]].getFloats()[e], sum, 1e-12) << c.axes;
        }
  }
}

TEST(Collectives, AllToAllExchangesBlocks) {
  for (const Case &c : cases()) {
    int64_t n = c.groups[0].size();
    RankTensors x = different(c, {n, 2});
    RankTensors y = runCollective(c, "all_to_all",
                                  ", split_dim = 0 : i64, concat_dim = 1 : i64",
                                  {n, 2}, {1, 2 * n}, x);
    for (const std::vector<int> &group : c.groups)
      for (size_t to = 0; to < group.size(); ++to)
        for (size_t from = 0; from < group.size(); ++from)
          for (int64_t e = 0; e < 2; ++e)
            EXPECT_EQ(y[group[to]].getFloats()[from * 2 + e],
                      x[group[from]].getFloats()[to * 2 + e])
                << c.axes;
  }
}

/// The members of the groups of cases()[3] (rows: a group) counted by {dp, tp}:
/// member k of {tp, dp} = (tp, dp) = (k / 2, k % 2) has number 3 dp + tp.
static int64_t countedTheOtherWay(int64_t k) { return 3 * (k % 2) + k / 2; }

static std::string otherOrder(const Case &c) {
  return ", to = #stretto.group<mesh<" + c.mesh + ">, {dp, tp}>";
}

TEST(Collectives, PermuteMovesShardsToWhereTheOtherOrderCountsThem) {
  const Case &c = cases()[3];
  RankTensors x = different(c, {2, 3});
  RankTensors y = runCollective(c, "permute", otherOrder(c), {2, 3}, {2, 3}, x);
  const std::vector<int> &group = c.groups[0];
  for (size_t k = 0; k < group.size(); ++k)
    EXPECT_EQ(y[group[k]].getFloats(),
              x[group[countedTheOtherWay(k)]].getFloats());
}

TEST(Collectives, PermuteGoesOnRoundTheRing) {
  const Case &c = cases()[3];
  RankTensors x = different(c, {2, 3});
  RankTensors y = runCollective(
      c, "permute", otherOrder(c) + ", shift = 4 : i64", {2, 3}, {2, 3}, x);
  const std::vector<int> &group = c.groups[0];
  for (size_t k = 0; k < group.size(); ++k)
    EXPECT_EQ(y[group[k]].getFloats(),
              x[group[(countedTheOtherWay(k) + 4) % 6]].getFloats());
}

TEST(Collectives, AllToAllHandsOutBlocksInTheOtherOrder) {
  const Case &c = cases()[3];
  RankTensors x = different(c, {6, 2});
  RankTensors y = runCollective(c, "all_to_all",
                                ", split_dim = 0 : i64, concat_dim = 1 : i64" +
                                    otherOrder(c),
                                {6, 2}, {1, 12}, x);
  const std::vector<int> &group = c.groups[0];
  for (size_t to = 0; to < group.size(); ++to)
    for (size_t from = 0; from < group.size(); ++from)
      for (int64_t e = 0; e < 2; ++e)
        EXPECT_EQ(y[group[to]].getFloats()[from * 2 + e],
                  x[group[from]].getFloats()[countedTheOtherWay(to) * 2 + e]);
}

TEST(Collectives, ShardSliceAndKeepFirstNeedNoCommunication) {
  for (const Case &c : cases()) {
    int64_t n = c.groups[0].size();
    RankTensors x = different(c, {2 * n});
    RankTensors parts =
        runCollective(c, "shard_slice", ", dim = 0 : i64", {2 * n}, {2}, x);
    RankTensors first = runCollective(c, "keep_first", "", {2 * n}, {2 * n}, x);
    for (const std::vector<int> &group : c.groups)
      for (size_t k = 0; k < group.size(); ++k) {
        int rank = group[k];
        for (int64_t e = 0; e < 2; ++e)
          EXPECT_EQ(parts[rank].getFloats()[e], x[rank].getFloats()[k * 2 + e]);
        for (int64_t e = 0; e < 2 * n; ++e)
          EXPECT_EQ(first[rank].getFloats()[e],
                    k == 0 ? x[rank].getFloats()[e] : 0);
      }
  }
}

TEST(Collectives, PadAddsAndCutsTrailingElements) {
  Case c{"dp = 1", "{dp}", {{0}}, 1};
  TestProgram program(
      oneOp("%x: tensor<2x3xf32>",
            "stretto.pad_extent %x : tensor<2x3xf32> -> tensor<3x2xf32>",
            "tensor<3x2xf32>"));
  expectNear(program.run({reals({2, 3}, {1, 2, 3, 4, 5, 6})})[0],
             {1, 2, 4, 5, 0, 0});
}

TEST(Collectives, OneRankCannotCommunicate) {
  TestProgram program(
      oneOp("%x: tensor<2xf32>",
            "stretto.all_reduce %x {group = #stretto.group<mesh<dp = 2>, "
            "{dp}>, kind = "
            "#stretto<reduce_kind sum>} : tensor<2xf32> -> tensor<2xf32>",
            "tensor<2xf32>"));
  Machine machine(program.get(), MeshAttr(), 1, 1);
  EXPECT_TRUE(mlir::failed(
      machine.call(program.find<SegmentOp>("f"), {{reals({2}, {1, 2})}})));
  EXPECT_NE(program.errors.find("the program runs on one rank"),
            std::string::npos)
      << program.errors;
}
