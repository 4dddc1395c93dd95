//===- FusedProgramTest.cpp - launches, kernels, library products ---------===//

#include "TestProgram.h"

using namespace stretto;
using namespace stretto::interp;

TEST(Gemm, StridesReadTransposedMatricesAndAddToTheOld) {
  // C[n, m] (a column-major 2 x 3) += A^T B with A [k, m], B [k, n], k = 4.
  TestProgram program(oneOp(
      "%a: tensor<4x2xf32>, %b: tensor<4x3xf32>, %c: tensor<3x2xf32>",
      "stretto.gemm %a, %b acc %c : tensor<3x2xf32> {m = 2 : i64, n = 3 : i64, "
      "k = 4 : i64, a_strides = array<i64: 1, 2>, b_strides = array<i64: 3, "
      "1>, "
      "c_strides = array<i64: 1, 2>, batch = array<i64>, a_batch = array<i64>, "
      "b_batch = array<i64>, c_batch = array<i64>} : tensor<4x2xf32>, "
      "tensor<4x3xf32> -> tensor<3x2xf32>",
      "tensor<3x2xf32>"));
  Tensor a = randoms({4, 2}, 1), b = randoms({4, 3}, 2), c = randoms({3, 2}, 3);
  std::vector<double> want;
  for (int n = 0; n < 3; ++n)
    for (int m = 0; m < 2; ++m) {
      double sum = c.getFloats()[n * 2 + m];
      for (int k = 0; k < 4; ++k)
        sum += a.getFloats()[k * 2 + m] * b.getFloats()[k * 3 + n];
      want.push_back(sum);
    }
  expectNear(program.run({a, b, c})[0], want);
}

TEST(Gemm, BatchesBroadcastWithStrideZero) {
  // Two left matrices times one right matrix.
  TestProgram program(oneOp(
      "%a: tensor<2x1x2xf32>, %b: tensor<2x1xf32>",
      "stretto.gemm %a, %b {m = 1 : i64, n = 1 : i64, k = 2 : i64, a_strides = "
      "array<i64: 2, 1>, b_strides = array<i64: 1, 1>, c_strides = array<i64: "
      "1, "
      "1>, batch = array<i64: 2>, a_batch = array<i64: 2>, b_batch = "
      "array<i64: "
      "0>, c_batch = array<i64: 1>} : tensor<2x1x2xf32>, tensor<2x1xf32> -> "
      "tensor<2x1x1xf32>",
      "tensor<2x1x1xf32>"));
  expectNear(
      program.run({reals({2, 1, 2}, {1, 2, 3, 4}), reals({2, 1}, {5, 6})})[0],
      {17, 39});
}

TEST(Launches, KernelsReadTheScalarsOfTheirLaunch) {
  // The same on the rank's own attributes and through a launch.
  TestProgram program(R"(
module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
stretto.kernel @k(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %d = stretto.dropout %x {p = 0.5 : f64, op_id = 2 : i64, extents = array<i64: 4, 6>, sample_dim = 0 : i64,
    stretto.scalars = array<i64: 0, 1, 2, 3, 4>} : tensor<2x3xf32> -> tensor<2x3xf32>
  %i = stretto.iota %x {dim = 1 : i64, stretto.scalars = array<i64: 4>} : tensor<2x3xf32> -> tensor<2x3xi32>
  %s = stretto.shard_slice %w {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, dim = 0 : i64, stretto.scalars = array<i64: 5>} : tensor<4x3xf32> -> tensor<2x3xf32>
  %k = stretto.keep_first %x {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, stretto.scalars = array<i64: 5>} : tensor<2x3xf32> -> tensor<2x3xf32>
  stretto.yield %d, %i, %s, %k : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>
}
stretto.segment @fused(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) attributes {direction = "forward"} {
  %r:4 = stretto.launch @k(%x, %w) {aliases = array<i64: -1, -1, -1, -1>, scalars = ["seed", "step", "instance",
    #stretto.offset<mesh<dp = 2, tp = 2>, [dp * 2], microbatch * 4>, #stretto.offset<mesh<dp = 2, tp = 2>, [tp * 3], microbatch * 0>,
    #stretto.offset<mesh<dp = 2, tp = 2>, [dp * 1], microbatch * 0>]}
    : (tensor<2x3xf32>, tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>)
  stretto.yield %r#0, %r#1, %r#2, %r#3 : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>
}
stretto.segment @plain(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) attributes {direction = "forward"} {
  %d = stretto.dropout %x {p = 0.5 : f64, op_id = 2 : i64, extents = array<i64: 4, 6>, sample_dim = 0 : i64, offsets = [
    #stretto.offset<mesh<dp = 2, tp = 2>, [dp * 2], microbatch * 4>, #stretto.offset<mesh<dp = 2, tp = 2>, [tp * 3], microbatch * 0>]} : tensor<2x3xf32> -> tensor<2x3xf32>
  %i = stretto.iota %x {dim = 1 : i64, offset = #stretto.offset<mesh<dp = 2, tp = 2>, [tp * 3], microbatch * 0>} : tensor<2x3xf32> -> tensor<2x3xi32>
  %s = stretto.shard_slice %w {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, dim = 0 : i64} : tensor<4x3xf32> -> tensor<2x3xf32>
  %k = stretto.keep_first %x {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>} : tensor<2x3xf32> -> tensor<2x3xf32>
  stretto.yield %d, %i, %s, %k : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32>
}
})");
  RankTensors x(4, randoms({2, 3}, 1)), w(4, randoms({4, 3}, 2));
  auto fused =
      program.run("fused", {x, w}, program.mesh(), 3, 5, "layers.0", 2);
  auto plain =
      program.run("plain", {x, w}, program.mesh(), 3, 5, "layers.0", 2);
  ASSERT_EQ(fused.size(), 4u);
  for (int result = 0; result < 4; ++result)
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_TRUE(fused[result][rank].identical(plain[result][rank]))
          << "result " << result << " on rank " << rank;
  EXPECT_FALSE(plain[0][0].identical(plain[0][3]));
}

TEST(Launches, AScalarThatWasNotPassedIsAnError) {
  TestProgram program(R"(
stretto.kernel @k(%x: tensor<2xf32>) -> tensor<2xi32> {
  %i = stretto.iota %x {dim = 0 : i64, stretto.scalars = array<i64: 1>} : tensor<2xf32> -> tensor<2xi32>
  stretto.yield %i : tensor<2xi32>
}
stretto.segment @f(%x: tensor<2xf32>) -> tensor<2xi32> attributes {direction = "forward"} {
  %r = stretto.launch @k(%x) {aliases = array<i64: -1>, scalars = [7]} : (tensor<2xf32>) -> tensor<2xi32>
  stretto.yield %r : tensor<2xi32>
})");
  Machine machine(program.get(), MeshAttr(), 1, 1);
  EXPECT_TRUE(mlir::failed(
      machine.call(program.find<SegmentOp>("f"), {{Tensor::floats({2})}})));
  EXPECT_NE(program.errors.find("reads launch scalar 1 of 1"),
            std::string::npos)
      << program.errors;
}

TEST(Launches, StorageThatWasUpdatedInPlaceCannotBeRead) {
  TestProgram program(R"(
stretto.kernel @inc(%x: tensor<2xf32>) -> (tensor<2xf32> {stretto.alias = 0 : i64}) {
  %one = stretto.constant 1.0 : tensor<f32>
  %y = stretto.add %x, %one : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  stretto.yield %y : tensor<2xf32>
}
stretto.segment @good(%x: tensor<2xf32>) -> tensor<2xf32> attributes {direction = "forward"} {
  %y = stretto.launch @inc(%x) {aliases = array<i64: 0>, scalars = []} : (tensor<2xf32>) -> tensor<2xf32>
  stretto.yield %y : tensor<2xf32>
}
stretto.segment @bad(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {direction = "forward"} {
  %y = stretto.launch @inc(%x) {aliases = array<i64: 0>, scalars = []} : (tensor<2xf32>) -> tensor<2xf32>
  stretto.yield %y, %x : tensor<2xf32>, tensor<2xf32>
})");
  Machine machine(program.get(), MeshAttr(), 1, 1);
  Tensor x = reals({2}, {1, 2});
  auto good = machine.call(program.find<SegmentOp>("good"), {{x}});
  ASSERT_TRUE(mlir::succeeded(good)) << program.errors;
  expectNear((*good)[0][0], {2, 3});
  EXPECT_TRUE(
      mlir::failed(machine.call(program.find<SegmentOp>("bad"), {{x}})));
  EXPECT_NE(program.errors.find("after its storage was updated in place"),
            std::string::npos)
      << program.errors;
}
