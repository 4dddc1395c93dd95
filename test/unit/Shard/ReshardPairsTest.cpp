//===- ReshardPairsTest.cpp - every reshard of small meshes ---------------===//
//
// For every ordered pair of distributions: the planned program gives the right
// values on virtual ranks, and moves no more than the best sequence of at most
// four steps that exhaustion finds on element-by-element definitions.
//
//===----------------------------------------------------------------------===//

#include "Exhaustion.h"
#include "TestProgram.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Transforms/Shard/Passes.h"
#include "stretto/Transforms/Shard/ReshardSearch.h"
#include "llvm/ADT/TypeSwitch.h"

#include <chrono>
#include <cstdlib>

using namespace stretto;
using namespace stretto::interp;
using namespace stretto::test;

namespace {

struct Pair {
  TestDist from, to;
};

/// The planned and localized programs of many reshards, @f0 and so on.
class Reshards {
public:
  Reshards(const TestMesh &mesh, const std::vector<Pair> &pairs,
           const int *size)
      : mesh(mesh), pairs(pairs), size(size), program(text()) {
    mlir::PassManager passes(program.get().getContext());
    passes.addPass(createPlanReshardsPass());
    time = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_TRUE(mlir::succeeded(passes.run(program.get()))) << program.errors;
    time = std::chrono::steady_clock::now().time_since_epoch() - time;
    mlir::PassManager more(program.get().getContext());
    more.addPass(createLocalizePass());
    EXPECT_TRUE(mlir::succeeded(more.run(program.get()))) << program.errors;
  }

  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(time).count();
  }
  SegmentOp segment(size_t index) {
    return program.find<SegmentOp>("f" + std::to_string(index));
  }
  /// Runs pair `index` on all ranks in f64 and compares with the definition.
  void checkValues(size_t index);
  /// Elements read from other ranks by the program, by definition; the planner
  /// counts the same.
  int elementsRead(size_t index);

private:
  std::string text() const;
  std::string describe(size_t index) const {
    return pairs[index].from.text(mesh, size) + " -> " +
           pairs[index].to.text(mesh, size);
  }

  const TestMesh &mesh;
  const std::vector<Pair> &pairs;
  const int *size;
  TestProgram program;
  std::chrono::steady_clock::duration time;
};

} // namespace

std::string Reshards::text() const {
  std::string text = "module attributes {stretto.mesh = #stretto.mesh<";
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis)
    text += (axis ? ", " : "") + mesh.names[axis] + " = " +
            std::to_string(mesh.sizes[axis]);
  text += ">} {\n";
  for (size_t index = 0; index < pairs.size(); ++index) {
    auto type = [&](const TestDist &dist) {
      return "tensor<" + std::to_string(size[0]) + "x" +
             std::to_string(size[1]) + "xf32, " + dist.text(mesh, size) + ">";
    };
    std::string from = type(pairs[index].from), to = type(pairs[index].to);
    text += "stretto.segment @f" + std::to_string(index) + "(%x: " + from +
            ") -> " + to + " attributes {direction = \"forward\"} {\n" +
            "  %y = stretto.reshard %x : " + from + " -> " + to +
            "\n  stretto.yield %y : " + to + "\n}\n";
  }
  return text + "}\n";
}

/// The value of one term of an element.
static double valueOf(int element, int term) {
  return std::sin(1.0 + element) * (1 + term * term);
}

/// What rank's place i holds as a number: its terms added; padding is rubbish.
static double numberOf(const Piece &piece) {
  if (piece.element < 0)
    return 777;
  double sum = 0;
  for (int term = 0; term < 16; ++term)
    if (piece.terms >> term & 1)
      sum += valueOf(piece.element, term);
  return sum;
}

void Reshards::checkValues(size_t index) {
  const auto &[from, to] = pairs[index];
  Holdings source = hold(mesh, from, size);
  RankTensors arguments;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<double> numbers;
    for (int i = 0; i < source.size(); ++i)
      numbers.push_back(numberOf(source.rank(rank)[i]));
    arguments.push_back(reals({source.rows, source.columns}, numbers));
  }
  auto results =
      program.run("f" + std::to_string(index), {arguments}, program.mesh());
  ASSERT_EQ(results.size(), 1u) << describe(index);
  TestDist whole = to;
  whole.partial.clear();
  Holdings wanted = hold(mesh, whole, size);
  int terms = mesh.product(from.partial);
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    ASSERT_EQ(results[0][rank].getNumElements(), wanted.size())
        << describe(index);
    for (int i = 0; i < wanted.size(); ++i) {
      int element = wanted.rank(rank)[i].element;
      if (element < 0)
        continue;
      double sum = 0, all = 0;
      for (int member : mesh.group(rank, to.partial))
        sum += results[0][member].getFloats()[i];
      for (int term = 0; term < terms; ++term)
        all += valueOf(element, term);
      ASSERT_NEAR(sum, all, 1e-12) << describe(index) << " rank " << rank;
    }
  }
}

static Axes axesOf(GroupAttr group) {
  Axes axes;
  for (AxisRef ref : group.getAxes())
    axes.push_back(int(ref.axis));
  return axes;
}

static TestStep stepOf(mlir::Operation *op) {
  auto size = [](mlir::Value value, int dim) {
    return int(
        llvm::cast<mlir::RankedTensorType>(value.getType()).getDimSize(dim));
  };
  return llvm::TypeSwitch<mlir::Operation *, TestStep>(op)
      .Case([](ShardSliceOp op) {
        return TestStep{
            TestStep::Slice, axesOf(op.getGroup()), {}, int(op.getDim())};
      })
      .Case([](AllGatherOp op) {
        return TestStep{
            TestStep::AllGather, axesOf(op.getGroup()), {}, int(op.getDim())};
      })
      .Case([](ReduceScatterOp op) {
        return TestStep{TestStep::ReduceScatter,
                        axesOf(op.getGroup()),
                        {},
                        int(op.getDim())};
      })
      .Case([](AllReduceOp op) {
        return TestStep{TestStep::AllReduce, axesOf(op.getGroup()), {}};
      })
      .Case([](KeepFirstOp op) {
        return TestStep{TestStep::KeepFirst, axesOf(op.getGroup()), {}};
      })
      .Case([](PermuteOp op) {
        return TestStep{TestStep::Permute, axesOf(op.getGroup()),
                        axesOf(op.getTo())};
      })
      .Case([](AllToAllOp op) {
        GroupAttr group = op.getGroup();
        return TestStep{TestStep::AllToAll, axesOf(group),
                        axesOf(op.getTo().value_or(group)),
                        int(op.getSplitDim()), int(op.getConcatDim())};
      })
      .Case([&](PadExtentOp op) {
        int dim = size(op.getX(), 0) == size(op.getResult(), 0);
        return TestStep{TestStep::Pad, {}, {},
                        dim,           0,  size(op.getResult(), dim)};
      })
      .Default([](mlir::Operation *op) {
        ADD_FAILURE() << "what is " << op->getName().getStringRef().str();
        return TestStep{TestStep::Pad, {}, {}};
      });
}

int Reshards::elementsRead(size_t index) {
  Holdings holdings = hold(mesh, pairs[index].from, size);
  int read = 0;
  for (mlir::Operation &op :
       segment(index).getBody().front().without_terminator()) {
    auto result = run(mesh, holdings, stepOf(&op));
    if (!result) {
      ADD_FAILURE() << describe(index) << ": undefined "
                    << op.getName().getStringRef().str();
      return 0;
    }
    holdings = std::move(result->first);
    read += result->second;
  }
  EXPECT_TRUE(isDone(mesh, holdings, pairs[index].to, size)) << describe(index);
  auto dist = [&](const TestDist &dist) {
    return llvm::cast<DistAttr>(mlir::parseAttribute(
        dist.text(mesh, size), program.get().getContext()));
  };
  DistAttr from = dist(pairs[index].from), to = dist(pairs[index].to);
  ReshardPlanner planner{Links(from.getMesh())};
  EXPECT_NEAR(planner.plan(from, to, {size[0], size[1]}, 1).bytes *
                  mesh.ranks(),
              read, 1e-6)
      << describe(index);
  return read;
}

//===----------------------------------------------------------------------===//
// The pairs
//===----------------------------------------------------------------------===//

namespace {

std::vector<Pair> pairsOf(const std::vector<TestDist> &from,
                          const std::vector<TestDist> &to) {
  std::vector<Pair> pairs;
  for (const TestDist &a : from)
    for (const TestDist &b : to)
      if (a.dims[0] != b.dims[0] || a.dims[1] != b.dims[1] ||
          a.partial != b.partial)
        pairs.push_back({a, b});
  return pairs;
}

/// The shardings that leave some axes free, with a sum over some of those.
std::vector<TestDist> partials(const TestMesh &mesh) {
  std::vector<TestDist> result;
  for (const TestDist &dist : allShardings(mesh))
    for (const Axes &axes : mesh.lists()) {
      bool fits = !axes.empty() && std::is_sorted(axes.begin(), axes.end());
      for (int axis : axes)
        for (const Axes &dim : dist.dims)
          fits &= std::find(dim.begin(), dim.end(), axis) == dim.end();
      if (fits)
        result.push_back({{dist.dims[0], dist.dims[1]}, axes});
    }
  return result;
}

/// Renames axes of one size so that what sources have in common is seen: the
/// first of all names that `from` can have, with `to` renamed alike.
Pair renamed(const TestMesh &mesh, const Pair &pair) {
  auto lists = [](const Pair &p) {
    return std::tie(p.from.dims[0], p.from.dims[1], p.from.partial);
  };
  Axes names;
  for (int axis = 0; axis < int(mesh.sizes.size()); ++axis)
    names.push_back(axis);
  Pair best = pair;
  do {
    Pair other = pair;
    bool fits = true;
    for (size_t axis = 0; axis < names.size(); ++axis)
      fits &= mesh.sizes[axis] == mesh.sizes[names[axis]];
    for (TestDist *dist : {&other.from, &other.to}) {
      for (Axes *axes : {&dist->dims[0], &dist->dims[1], &dist->partial})
        for (int &axis : *axes)
          axis = names[axis];
      std::sort(dist->partial.begin(), dist->partial.end());
    }
    if (fits && lists(other) < lists(best))
      best = other;
  } while (std::next_permutation(names.begin(), names.end()));
  return best;
}

/// Checks the values of all pairs, compares what they move with the best
/// sequence, and prints how many are optimal. Exhaustion looks at a matrix that
/// is `scale` times smaller in each dimension: what is moved of one whose
/// blocks divide is proportional. Of the sources every `stride`th is searched.
void check(const char *name, const TestMesh &mesh,
           const std::vector<Pair> &pairs, const int *size, int scale = 1,
           size_t stride = 1) {
  if (std::getenv("STRETTO_TEST_EVERYTHING"))
    stride = 1;
  const int small[] = {size[0] / scale, size[1] / scale};
  int area = scale * scale;
  Reshards reshards(mesh, pairs, size);
  auto begin = std::chrono::steady_clock::now();
  bool summed = !pairs[0].from.partial.empty() || !pairs[0].to.partial.empty();
  Exhaustion exhaustion(mesh, small, summed);
  std::map<std::string, std::pair<TestDist, std::vector<Question>>> searches;
  std::map<std::string, std::vector<size_t>> askedBy;
  std::vector<int> read;
  int atBound = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    reshards.checkValues(i);
    read.push_back(reshards.elementsRead(i));
    atBound +=
        read[i] == area * exhaustion.stillMissing(pairs[i].from, pairs[i].to);
    Pair pair = renamed(mesh, pairs[i]);
    auto &[from, questions] = searches[pair.from.text(mesh, size)];
    from = pair.from;
    // One more than is known: what the planner found must be found again.
    questions.push_back({pair.to, read[i] / area + 1, ""});
    askedBy[pair.from.text(mesh, size)].push_back(i);
  }
  int optimal = 0, again = 0, checked = 0, number = 0;
  long moved = 0, least = 0;
  for (auto &[text, search] : searches) {
    auto &[from, questions] = search;
    if (number++ % stride != 0)
      continue;
    exhaustion.search(from, questions, 4);
    for (size_t k = 0; k < questions.size(); ++k) {
      size_t i = askedBy[text][k];
      ++checked;
      moved += read[i];
      least += std::min(read[i], area * questions[k].known);
      optimal += read[i] <= area * questions[k].known;
      again += read[i] == area * questions[k].known;
      EXPECT_LE(read[i], area * questions[k].known)
          << pairs[i].from.text(mesh, size) << " -> "
          << pairs[i].to.text(mesh, size) << ": " << questions[k].steps;
    }
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%s: %zu pairs, %d of %d optimal (%ld elements moved, least "
              "%ld), %d found again by exhaustion, %d move only what a rank "
              "lacks; %.3f ms a search; "
              "exhaustion looked at %ld states, all in %.1f s\n",
              name, pairs.size(), optimal, checked, moved, least, again,
              atBound, reshards.milliseconds() / double(pairs.size()),
              exhaustion.numStates(), took.count());
}

const TestMesh square = {{2, 2}, {"a", "b"}};
const TestMesh cube = {{2, 3, 2}, {"a", "b", "c"}};
const int sixteen[] = {16, 16}, twelve[] = {12, 10};

TEST(ReshardPairs, TheElevenShardingsOfASquareMesh) {
  std::vector<TestDist> all = allShardings(square);
  ASSERT_EQ(all.size(), 11u);
  std::vector<Pair> pairs = pairsOf(all, all);
  ASSERT_EQ(pairs.size(), 110u);
  check("2x2, 16x16", square, pairs, sixteen, 4);
}

TEST(ReshardPairs, SumsOnASquareMesh) {
  std::vector<TestDist> all = allShardings(square), sums = partials(square);
  check("2x2, 16x16, sums", square, pairsOf(sums, all), sixteen, 4);
  check("2x2, 16x16, to sums", square, pairsOf(all, sums), sixteen, 4);
}

TEST(ReshardPairs, ThreeAxesWithPadding) {
  std::vector<TestDist> all = allShardings(cube);
  ASSERT_EQ(all.size(), 49u);
  check("2x3x2, 12x10", cube, pairsOf(all, all), twelve, 1, 4);
}

TEST(ReshardPairs, SumsOnThreeAxesWithPadding) {
  check("2x3x2, 12x10, sums", cube, pairsOf(partials(cube), allShardings(cube)),
        twelve, 1, 13);
}

TEST(ReshardPairs, ToSumsOnThreeAxesWithPadding) {
  check("2x3x2, 12x10, to sums", cube,
        pairsOf(allShardings(cube), partials(cube)), twelve, 1, 13);
}

TEST(ReshardPairs, SumsToSumsOnThreeAxesWithPadding) {
  std::vector<TestDist> sums = partials(cube);
  check("2x3x2, 12x10, sums to sums", cube, pairsOf(sums, sums), twelve, 1, 13);
}

} // namespace
