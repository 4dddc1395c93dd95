//===- LayoutTest.cpp - scatter, gather, initial values -------------------===//

#include "stretto/Interpreter/Layout.h"
#include "TestProgram.h"
#include "mlir/AsmParser/AsmParser.h"
#include "stretto/Runtime/Random.h"

using namespace stretto;
using namespace stretto::interp;

namespace {
struct Context {
  mlir::MLIRContext context;
  Context() { context.loadDialect<StrettoDialect>(); }
  Layout layout(llvm::StringRef dist, llvm::ArrayRef<int64_t> shape) {
    auto attribute =
        mlir::dyn_cast_or_null<DistAttr>(mlir::parseAttribute(dist, &context));
    EXPECT_TRUE(attribute);
    return {attribute, llvm::SmallVector<int64_t>(shape)};
  }
};
} // namespace

TEST(Layout, ShardsOfAPaddedDimensionByHand) {
  Context context;
  // 5 padded to 8 over dp (major) then tp: blocks of 2.
  Layout layout = context.layout(
      "#stretto.dist<mesh<dp = 2, tp = 2>, [{dp, tp}], padded [8]>", {5});
  Tensor x = reals({5}, {1, 2, 3, 4, 5});
  RankTensors parts = scatter(x, layout);
  ASSERT_EQ(parts.size(), 4u);
  expectNear(parts[0], {1, 2});
  expectNear(parts[1], {3, 4});
  expectNear(parts[2], {5, 0});
  expectNear(parts[3], {0, 0});
  Gathered back = gather(parts, layout);
  EXPECT_TRUE(back.faults.empty());
  EXPECT_TRUE(back.value.identical(x));
}

TEST(Layout, SubAxesAndReplicasByHand) {
  Context context;
  // Columns over the major half of tp: ranks 0, 1 and 2, 3 hold replicas.
  Layout layout =
      context.layout("#stretto.dist<mesh<tp = 4>, [{}, {tp:(1)2}]>", {2, 4});
  Tensor x = integers({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  RankTensors parts = scatter(x, layout);
  for (int rank : {0, 1})
    expectInts(parts[rank], {1, 2, 5, 6});
  for (int rank : {2, 3})
    expectInts(parts[rank], {3, 4, 7, 8});
  EXPECT_TRUE(gather(parts, layout).value.identical(x));
}

TEST(Layout, ReplicasMustAgreeBitForBit) {
  Context context;
  Layout layout = context.layout("#stretto.dist<mesh<dp = 2>, [{}]>", {3});
  Tensor x = reals({3}, {1, 2, 3});
  Tensor y = reals({3}, {1, std::nextafter(2.0, 3.0), 3});
  Gathered result = gather({x, y}, layout);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_NE(result.faults[0].find("rank 1 and rank 0 hold element [1]"),
            std::string::npos)
      << result.faults[0];
}

TEST(Layout, PaddingMustBeZero) {
  Context context;
  Layout layout =
      context.layout("#stretto.dist<mesh<dp = 2>, [{dp}], padded [4]>", {3});
  Gathered result = gather({reals({2}, {1, 2}), reals({2}, {3, 0.5})}, layout);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_NE(
      result.faults[0].find("rank 1 holds 5.000000e-01 in the padding at [3]"),
      std::string::npos)
      << result.faults[0];
  expectNear(result.value, {1, 2, 3});
}

TEST(Layout, InitialValuesAreDrawnByLogicalElement) {
  Context context;
  auto init = mlir::cast<InitAttr>(
      mlir::parseAttribute("#stretto.init<normal(0.02)>", &context.context));
  Tensor x = initialValue(init, {3, 4}, 5, "layers.0.wq");
  uint64_t key = random::key(5, 0, instanceKey("layers.0.wq"));
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(x.getFloats()[i], double(float(0.02 * random::normal(key, i))));
  expectNear(initialValue(InitAttr(), {2}, 5, "x"), {0, 0});
}
