//===- StructuredTest.cpp - contractions, reductions, shape by hand -------===//

#include "TestProgram.h"

using namespace stretto;
using namespace stretto::interp;

TEST(Einsum, ASmallMatrixProductByHand) {
  TestProgram program(
      oneOp("%a: tensor<2x3xf32>, %b: tensor<3x2xf32>",
            "stretto.einsum \"i k, k j -> i j\" %a, %b : tensor<2x3xf32>, "
            "tensor<3x2xf32> -> tensor<2x2xf32>",
            "tensor<2x2xf32>"));
  expectNear(program.run({reals({2, 3}, {1, 2, 3, 4, 5, 6}),
                          reals({3, 2}, {7, 8, 9, 10, 11, 12})})[0],
             {58, 64, 139, 154});
}

TEST(Einsum, BatchRowsColumnsAndContractionsInAnyOrder) {
  // out[n, b, m, p] = sum over k, l of a[m, k, b, l] * c[l, b, n, k, p].
  TestProgram program(
      oneOp("%a: tensor<2x3x4x5xf32>, %c: tensor<5x4x2x3x2xf32>",
            "stretto.einsum \"m k b l, l b n k p -> n b m p\" %a, %c : "
            "tensor<2x3x4x5xf32>, tensor<5x4x2x3x2xf32> -> tensor<2x4x2x2xf32>",
            "tensor<2x4x2x2xf32>"));
  Tensor a = randoms({2, 3, 4, 5}, 1), c = randoms({5, 4, 2, 3, 2}, 2);
  std::vector<double> want;
  for (int n = 0; n < 2; ++n)
    for (int b = 0; b < 4; ++b)
      for (int m = 0; m < 2; ++m)
        for (int p = 0; p < 2; ++p) {
          double sum = 0;
          for (int k = 0; k < 3; ++k)
            for (int l = 0; l < 5; ++l)
              sum += a.getFloats()[((m * 3 + k) * 4 + b) * 5 + l] *
                     c.getFloats()[(((l * 4 + b) * 2 + n) * 3 + k) * 2 + p];
          want.push_back(sum);
        }
  expectNear(program.run({a, c})[0], want);
}

TEST(Einsum, AnOuterProductHasNoContraction) {
  TestProgram program(oneOp(
      "%a: tensor<2xf32>, %b: tensor<3xf32>",
      "stretto.einsum \"i, j -> j i\" %a, %b : tensor<2xf32>, tensor<3xf32> -> "
      "tensor<3x2xf32>",
      "tensor<3x2xf32>"));
  expectNear(program.run({reals({2}, {1, 2}), reals({3}, {3, 4, 5})})[0],
             {3, 6, 4, 8, 5, 10});
}

static Tensor reduce(const std::string &kind, const std::string &dims,
                     const std::string &result) {
  TestProgram program(oneOp("%x: tensor<2x3x2xf32>",
                            "stretto.reduce " + kind + " %x dims [" + dims +
                                "] : tensor<2x3x2xf32> -> " + result,
                            result));
  return program.run(
      {reals({2, 3, 2}, {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6})})[0];
}

TEST(Reduce, EveryKindOverOuterInnerAndAllDimensions) {
  expectNear(reduce("sum", "1", "tensor<2x2xf32>"), {9, 12, -9, -12});
  expectNear(reduce("max", "0, 2", "tensor<3xf32>"), {2, 4, 6});
  expectNear(reduce("min", "0, 2", "tensor<3xf32>"), {-2, -4, -6});
  expectNear(reduce("prod", "1", "tensor<2x2xf32>"), {15, 48, -15, -48});
  expectNear(reduce("sum", "0, 1, 2", "tensor<f32>"), {0});
}

TEST(Shape, BroadcastAndTranspose) {
  TestProgram broadcast(oneOp(
      "%x: tensor<2xf32>",
      "stretto.broadcast %x dims [1] : tensor<2xf32> -> tensor<3x2x2xf32>",
      "tensor<3x2x2xf32>"));
  expectNear(broadcast.run({reals({2}, {1, 2})})[0],
             {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2});
  TestProgram transposed(oneOp(
      "%x: tensor<2x3xf32>",
      "stretto.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>",
      "tensor<3x2xf32>"));
  expectNear(transposed.run({reals({2, 3}, {1, 2, 3, 4, 5, 6})})[0],
             {1, 4, 2, 5, 3, 6});
}

TEST(Shape, IotaCountsFromTheOffsetOfTheShard) {
  TestProgram program(
      "module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {" +
      oneOp(
          "%x: tensor<2x3xf32>",
          "stretto.iota %x {dim = 1 : i64, offset = #stretto.offset<mesh<dp = "
          "2>, [dp * 3], microbatch * 10>} : tensor<2x3xf32> -> "
          "tensor<2x3xi32>",
          "tensor<2x3xi32>") +
      "}");
  Tensor x = Tensor::floats({2, 3});
  auto results = program.run("f", {{x, x}}, program.mesh(), 1, 1, "", 2);
  expectInts(results[0][0], {20, 21, 22, 20, 21, 22});
  expectInts(results[0][1], {23, 24, 25, 23, 24, 25});
}

TEST(Embedding, RowsByIndexAndZerosOutside) {
  TestProgram program(
      oneOp("%t: tensor<3x2xf32>, %i: tensor<2x2xi32>",
            "stretto.embedding %t, %i : tensor<3x2xf32>, tensor<2x2xi32> -> "
            "tensor<2x2x2xf32>",
            "tensor<2x2x2xf32>"));
  expectNear(program.run({reals({3, 2}, {1, 2, 3, 4, 5, 6}),
                          integers({2, 2}, {2, 0, 5, -1})})[0],
             {5, 6, 1, 2, 0, 0, 0, 0});
}

TEST(Embedding, ShardsOfTheRowsAddUpToTheWhole) {
  TestProgram program(
      "module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {" +
      oneOp("%t: tensor<2x2xf32>, %i: tensor<3xi32>",
            "stretto.embedding %t, %i {offset = #stretto.offset<mesh<tp = 2>, "
            "[tp * 2], microbatch * 0>} : tensor<2x2xf32>, tensor<3xi32> -> "
            "tensor<3x2xf32>",
            "tensor<3x2xf32>") +
      "}");
  Tensor ids = integers({3}, {3, 0, 2});
  auto results = program.run(
      "f",
      {{reals({2, 2}, {1, 2, 3, 4}), reals({2, 2}, {5, 6, 7, 8})}, {ids, ids}},
      program.mesh());
  expectNear(combine({results[0][0], results[0][1]}, ReduceKind::Sum),
             {7, 8, 1, 2, 5, 6});
}

TEST(Embedding, TheAdjointAddsRowsThatComeTwice) {
  TestProgram program(oneOp(
      "%i: tensor<4xi32>, %dy: tensor<4x2xf32>",
      "stretto.embedding_grad %i, %dy : tensor<4xi32>, tensor<4x2xf32> -> "
      "tensor<3x2xf32>",
      "tensor<3x2xf32>"));
  expectNear(program.run({integers({4}, {2, 0, 2, 7}),
                          reals({4, 2}, {1, 2, 3, 4, 10, 20, 5, 5})})[0],
             {3, 4, 0, 0, 11, 22});
}
