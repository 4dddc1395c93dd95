//===- PlacementTest.cpp - where a product is computed --------------------===//
//
// Random products whose operands lie anywhere and whose result is wanted
// anywhere: what `propagate` and `assign` choose is compared with the best of
// all placements of the factors, priced by the planner of reshards.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "VirtualRanks.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Transforms/Shard/Passes.h"
#include "stretto/Transforms/Shard/ReshardSearch.h"

using namespace stretto;
using namespace stretto::interp;
using namespace stretto::test;

namespace {

const TestMesh mesh = {{2, 4}, {"a", "b"}};
/// What work costs against bytes, as MoveCost has it.
constexpr double flopsPerSecond = 110e9 / 3.2e9 * 1e10;

struct Product {
  int sizes[3]; // m, k, n
  TestDist left, right, result;

  double seconds(const Axes *axes) const {
    double flops = 2;
    for (int factor = 0; factor < 3; ++factor)
      flops *= double(sizes[factor]) / mesh.product(axes[factor]);
    return flops / flopsPerSecond;
  }
};

std::string listOf(const Axes &axes) {
  std::string text;
  for (int axis : axes)
    text += (text.empty() ? "" : ", ") + mesh.names[axis];
  return "{" + text + "}";
}

std::string constraintOf(const TestDist &dist) {
  return "stretto.constraint = #stretto.constraint<[" + listOf(dist.dims[0]) +
         ", " + listOf(dist.dims[1]) + "]>";
}

std::string typeOf(int rows, int columns) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "xf32>";
}

std::string textOf(const std::vector<Product> &products) {
  std::string text = "module attributes {stretto.mesh = #stretto.mesh<a = 2, b "
                     "= 4>} {\n",
              steps;
  for (size_t i = 0; i < products.size(); ++i) {
    const Product &p = products[i];
    auto [m, k, n] = p.sizes;
    std::string left = typeOf(m, k), right = typeOf(k, n), out = typeOf(m, n);
    std::string name = "f" + std::to_string(i);
    text += "stretto.segment @" + name + "(%x: " + left + " {" +
            constraintOf(p.left) + ", stretto.role = \"param\"}, %y: " + right +
            " {" + constraintOf(p.right) + ", stretto.role = \"param\"}) -> (" +
            out + " {" + constraintOf(p.result) +
            ", stretto.role = \"activation\"}) attributes {direction = "
            "\"forward\"} {\n  %z = stretto.einsum \"m k, k n -> m n\" %x, %y "
            ": " +
            left + ", " + right + " -> " + out +
            "\n  stretto.yield %z : " + out + "\n}\n";
    steps += "stretto.step @s" + std::to_string(i) + "(%x: " + left +
             " {stretto.binding = \"param:x" + std::to_string(i) +
             "\"}, %y: " + right + " {stretto.binding = \"param:y" +
             std::to_string(i) + "\"}) {\n  %z = stretto.invoke @" + name +
             "(%x, %y) instance \"i\" : (" + left + ", " + right + ") -> " +
             out + "\n  stretto.yield\n}\n";
  }
  return text + steps + "}\n";
}

class Prices {
public:
  explicit Prices(mlir::MLIRContext *context)
      : context(context), planner(Links(dist({}, {16, 16}).getMesh())) {}

  double move(DistAttr from, DistAttr to, llvm::ArrayRef<int64_t> shape) {
    return from == to ? 0 : planner.plan(from, to, shape, 4).seconds;
  }
  DistAttr dist(const TestDist &dist, const int (&size)[2]) {
    return llvm::cast<DistAttr>(
        mlir::parseAttribute(dist.text(mesh, size), context));
  }

  /// The least of all placements: which axes m, k and n hold.
  double best(const Product &p) {
    auto [m, k, n] = p.sizes;
    double least = std::numeric_limits<double>::infinity();
    for (const Axes &list : mesh.lists())
      for (size_t i = 0; i <= list.size(); ++i)
        for (size_t j = i; j <= list.size(); ++j) {
          Axes axes[] = {Axes(list.begin(), list.begin() + i),
                         Axes(list.begin() + i, list.begin() + j),
                         Axes(list.begin() + j, list.end())};
          Axes summed = axes[1];
          std::sort(summed.begin(), summed.end());
          auto between = [&](const TestDist &from, const TestDist &to, int rows,
                             int columns) {
            const int size[2] = {rows, columns};
            return move(dist(from, size), dist(to, size), {rows, columns});
          };
          least = std::min(
              least, p.seconds(axes) +
                         between(p.left, {{axes[0], axes[1]}, {}}, m, k) +
                         between(p.right, {{axes[1], axes[2]}, {}}, k, n) +
                         between({{axes[0], axes[2]}, summed}, p.result, m, n));
        }
    return least;
  }

  /// What the segment takes as it was assigned.
  double assigned(SegmentOp segment, const Product &p) {
    double seconds = 0;
    segment.walk([&](ReshardOp op) {
      auto type = llvm::cast<mlir::RankedTensorType>(op.getX().getType());
      seconds +=
          move(getDist(op.getX()), getDist(op.getResult()), type.getShape());
    });
    segment.walk([&](EinsumOp op) {
      double flops = 2.0 * p.sizes[1];
      auto placement = readPlacement(op, op.getShardingRule());
      for (int factor : {0, 2})
        flops *= p.sizes[factor];
      for (const auto &axes : placement->axes)
        flops /= double(productOf(axes));
      seconds += flops / flopsPerSecond;
    });
    return seconds;
  }

private:
  mlir::MLIRContext *context;
  ReshardPlanner planner;
};

TEST(Placement, OfRandomProductsIsCloseToTheBest) {
  std::mt19937 random(7);
  std::vector<TestDist> all = allShardings(mesh);
  std::vector<Product> products;
  const int sizes[] = {8, 32, 128, 512};
  for (int i = 0; i < 400; ++i) {
    Product p = {
        {sizes[random() % 4], sizes[random() % 4], sizes[random() % 4]},
        all[random() % all.size()],
        all[random() % all.size()],
        all[random() % all.size()]};
    products.push_back(p);
  }
  TestProgram program(textOf(products));
  mlir::PassManager passes(program.get().getContext());
  passes.addPass(createPropagatePass());
  passes.addPass(createAssignPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(program.get()))) << program.errors;
  Prices prices(program.get().getContext());
  int optimal = 0, within = 0;
  double sum = 0, least = 0, worst = 1;
  for (size_t i = 0; i < products.size(); ++i) {
    double got = prices.assigned(
        program.find<SegmentOp>("f" + std::to_string(i)), products[i]);
    double best = prices.best(products[i]);
    EXPECT_GE(got, best * (1 - 1e-9)) << i;
    optimal += got <= best * (1 + 1e-9);
    within += got <= best * 1.1;
    sum += got;
    least += best;
    worst = std::max(worst, got / best);
    if (std::getenv("STRETTO_TEST_EVERYTHING") && got > best * 1.1)
      std::printf("%dx%dx%d %s * %s -> %s: %.1f us, best %.1f us\n",
                  products[i].sizes[0], products[i].sizes[1],
                  products[i].sizes[2], constraintOf(products[i].left).c_str(),
                  constraintOf(products[i].right).c_str(),
                  constraintOf(products[i].result).c_str(), got * 1e6,
                  best * 1e6);
  }
  std::printf("%zu products: %d placed best, %d within 10 %%, all take %.3f "
              "times the least, the worst %.2f times\n",
              products.size(), optimal, within, sum / least, worst);
  // 229 and 1.30 in November 2026; what is lost is told in docs/sharding.md.
  EXPECT_GE(optimal, 220);
  EXPECT_LE(sum, 1.32 * least);
}

} // namespace
