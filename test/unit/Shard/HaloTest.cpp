//===- HaloTest.cpp - elements across the borders of shards ---------------===//
//
// Windows over a group, of every extent on both sides, shift, stride and
// dilation that is small: the collectives they become give every member what
// the definition says, and move no more than the closed forms.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "mlir/AsmParser/AsmParser.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"

using namespace stretto;
using namespace stretto::interp;

namespace {

/// A window of a vector: shards of `shard` elements, results of `block`.
struct Case {
  int members, shard, block, start, stride, dilation;

  /// The shard and the place in it that element `i` of `member` reads; shard -1
  /// where it reads nothing.
  std::pair<int, int> source(int member, int i) const {
    int position = start + stride * (member * block + i);
    if (position < 0 || position % dilation != 0 ||
        position / dilation >= members * shard)
      return {-1, 0};
    return {position / dilation / shard, position / dilation % shard};
  }
  /// The most that a member must get from others.
  int mostForeign() const {
    int most = 0;
    for (int member = 0; member < members; ++member) {
      int foreign = 0;
      for (int i = 0; i < block; ++i) {
        int from = source(member, i).first;
        foreign += from >= 0 && from != member;
      }
      most = std::max(most, foreign);
    }
    return most;
  }
  std::string text(const std::string &name, const std::string &mesh,
                   const std::string &axes) const {
    std::string group = "#stretto.group<" + mesh + ", {" + axes + "}>";
    auto type = [](int size) {
      return "tensor<2x" + std::to_string(size) + "xf32>";
    };
    return "stretto.segment @" + name + "(%x: " + type(shard) + ") -> " +
           type(block) + " attributes {direction = \"forward\"} {\n" +
           "  %y = stretto.window %x {dim = 1 : i64, start = " +
           std::to_string(start) +
           " : i64, stride = " + std::to_string(stride) +
           " : i64, dilation = " + std::to_string(dilation) +
           " : i64, group = " + group + "} : " + type(shard) + " -> " +
           type(block) + "\n  stretto.yield %y : " + type(block) + "\n}\n";
  }
};

std::string nameOf(const Case &c) {
  return "w" + std::to_string(c.members) + "_" + std::to_string(c.shard) + "_" +
         std::to_string(c.block) + (c.start < 0 ? "_m" : "_") +
         std::to_string(std::abs(c.start)) + "_" + std::to_string(c.stride) +
         "_" + std::to_string(c.dilation);
}

/// Elements of a row that a member sends, of the collectives in a segment.
struct Moved {
  int elements = 0, permutes = 0, gathers = 0, scatters = 0;
};

Moved movedBy(SegmentOp segment) {
  Moved moved;
  auto columns = [](mlir::Value value) {
    return int(
        llvm::cast<mlir::RankedTensorType>(value.getType()).getDimSize(1));
  };
  segment.walk([&](mlir::Operation *op) {
    if (auto gather = llvm::dyn_cast<AllGatherOp>(op)) {
      ++moved.gathers;
      moved.elements += columns(gather.getResult()) - columns(gather.getX());
    } else if (auto scatter = llvm::dyn_cast<ReduceScatterOp>(op)) {
      ++moved.scatters;
      moved.elements += columns(scatter.getX()) - columns(scatter.getResult());
    } else if (auto permute = llvm::dyn_cast<PermuteOp>(op)) {
      ++moved.permutes;
      moved.elements += columns(permute.getX());
    }
  });
  return moved;
}

/// Expands the windows of `cases` and compares with the definition.
void check(const std::vector<Case> &cases, const std::string &mesh,
           const std::string &axes,
           llvm::function_ref<void(const Case &, const Moved &)> visit) {
  std::string text =
      "module attributes {stretto.mesh = #stretto." + mesh + "} {\n";
  for (const Case &c : cases)
    text += c.text(nameOf(c), mesh, axes);
  TestProgram program(text + "}");
  program.get().walk([](SegmentOp segment) { expandHalos(segment); });
  ASSERT_TRUE(mlir::succeeded(mlir::verify(program.get()))) << program.errors;
  for (const Case &c : cases) {
    RankTensors shards;
    for (int rank = 0; rank < c.members; ++rank)
      shards.push_back(randoms({2, c.shard}, 17 + rank));
    auto results = program.run(nameOf(c), {shards}, program.mesh());
    ASSERT_EQ(results.size(), 1u) << nameOf(c);
    // Members are counted by the axes of the group, ranks by those of the mesh.
    GroupAttr group = llvm::cast<GroupAttr>(
        mlir::parseAttribute("#stretto.group<" + mesh + ", {" + axes + "}>",
                             program.get().getContext()));
    std::vector<int> rankOf(c.members);
    for (int rank = 0; rank < c.members; ++rank)
      rankOf[group.member(program.mesh().coordinates(rank))] = rank;
    for (int member = 0; member < c.members; ++member)
      for (int row = 0; row < 2; ++row)
        for (int i = 0; i < c.block; ++i) {
          auto [from, at] = c.source(member, i);
          double want =
              from < 0 ? 0
                       : shards[rankOf[from]].getFloats()[row * c.shard + at];
          double got =
              results[0][rankOf[member]].getFloats()[row * c.block + i];
          ASSERT_EQ(got, want)
              << nameOf(c) << " member " << member << " element " << i;
        }
    visit(c, movedBy(program.find<SegmentOp>(nameOf(c))));
  }
}

TEST(Halo, EveryWindowMovesAtMostWhatGatheringOrScatteringDoes) {
  int numCases = 0, least = 0;
  long moved = 0, gathered = 0, foreign = 0;
  for (int members : {2, 3, 5}) {
    std::vector<Case> cases;
    for (int shard : {1, 2, 3})
      for (int block : {1, 2, 4})
        for (int start = -7; start <= 7; ++start)
          for (auto [stride, dilation] :
               {std::pair(1, 1), std::pair(2, 1), std::pair(1, 3)})
            cases.push_back({members, shard, block, start, stride, dilation});
    check(cases, "mesh<tp = " + std::to_string(members) + ">", "tp",
          [&](const Case &c, const Moved &m) {
            int others = c.members - 1;
            EXPECT_LE(m.elements, others * std::min(c.shard, c.block))
                << nameOf(c);
            EXPECT_GE(m.elements, c.mostForeign()) << nameOf(c);
            ++numCases;
            least += m.elements == c.mostForeign();
            moved += m.elements;
            gathered += others * c.shard;
            foreign += c.mostForeign();
          });
  }
  std::printf("%d windows: %ld elements moved, %ld by gathering shards, %ld "
              "needed by the member that needs most; %d move just that\n",
              numCases, moved, gathered, foreign, least);
}

/// Blocks that begin where shards do, one behind the other: what comes from
/// others is the same for all members but those at the ends.
TEST(Halo, StripsOfAnyWidthMoveOnceFromEveryNeighbour) {
  std::vector<Case> cases;
  for (int start = -11; start <= 11; ++start)
    cases.push_back({6, 2, 2, start, 1, 1});
  check(cases, "mesh<a = 2, b = 3>", "b, a", [](const Case &c, const Moved &m) {
    EXPECT_EQ(m.gathers + m.scatters, 0) << nameOf(c);
    int distance = std::abs(c.start);
    // Of two elements those that the shift takes out of the own shard; past
    // the last neighbour (distance 10) only one of them exists.
    int want = std::min(distance, 2) - (distance == 11);
    EXPECT_EQ(m.elements, want) << nameOf(c);
    EXPECT_EQ(m.permutes, distance == 0                                   ? 0
                          : distance % 2 && distance > 1 && distance < 11 ? 2
                                                                          : 1)
        << nameOf(c);
  });
}

/// With many members and extents that differ the needed parts lie on too many
/// shards for shifts: the smaller side moves.
TEST(Halo, TheSmallerSideMovesWhereThereAreTooManyShifts) {
  check({{40, 3, 1, 0, 1, 1}, {40, 1, 3, 0, 1, 1}, {40, 3, 3, -4, 1, 1}},
        "mesh<tp = 40>", "tp", [](const Case &c, const Moved &m) {
          bool aligned = c.shard == c.block;
          EXPECT_EQ(m.scatters, c.block < c.shard) << nameOf(c);
          EXPECT_EQ(m.gathers, c.block > c.shard) << nameOf(c);
          EXPECT_EQ(m.elements, aligned ? 3 : 39) << nameOf(c);
        });
}

} // namespace
