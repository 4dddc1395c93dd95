//===- ElementwiseTest.cpp - pointwise operations by hand -----------------===//

#include "TestProgram.h"

#include <cmath>
#include <limits>

using namespace stretto;
using namespace stretto::interp;

static TensorVector unary(const std::string &op, std::vector<double> x) {
  std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  TestProgram program(oneOp(
      "%x: " + type, "stretto." + op + " %x : " + type + " -> " + type, type));
  return program.run({reals({int64_t(x.size())}, x)});
}

TEST(Elementwise, UnaryOperationsHaveTheirTextbookValues) {
  expectNear(unary("neg", {1.5, -2, 0})[0], {-1.5, 2, 0});
  expectNear(unary("exp", {0, 1, -1})[0],
             {1, 2.718281828459045, 0.36787944117144233});
  expectNear(unary("log", {1, 10})[0], {0, 2.302585092994046});
  expectNear(unary("sqrt", {4, 2})[0], {2, 1.4142135623730951});
  expectNear(unary("rsqrt", {4, 16})[0], {0.5, 0.25});
  expectNear(unary("tanh", {0, 0.5})[0], {0, 0.46211715726000973});
  expectNear(unary("sigmoid", {0, 2})[0], {0.5, 0.8807970779778823});
  expectNear(unary("erf", {0, 1})[0], {0, 0.8427007929497149});
  expectNear(unary("silu", {0, 2})[0], {0, 1.7615941559557646});
}

TEST(Elementwise, GeluHasBothForms) {
  // x * Phi(x) with Phi(1) = 0.841344746068543, Phi(-2) = 0.022750131948179.
  expectNear(unary("gelu", {1, -2, 0})[0],
             {0.8413447460685429, -0.04550026389635842, 0});
  // The tanh form at 1: 0.5 (1 + tanh(0.7978845608028654 * 1.044715)).
  expectNear(unary("gelu", {0})[0], {0});
  TestProgram program(
      oneOp("%x: tensor<1xf32>",
            "stretto.gelu %x {tanh} : tensor<1xf32> -> tensor<1xf32>",
            "tensor<1xf32>"));
  expectNear(program.run({reals({1}, {1})})[0], {0.8411919906082768}, 1e-12);
}

static Tensor binary(const std::string &op, const Tensor &a, const Tensor &b,
                     const std::string &ta, const std::string &tb,
                     const std::string &tr) {
  TestProgram program(
      oneOp("%a: " + ta + ", %b: " + tb,
            "stretto." + op + " %a, %b : " + ta + ", " + tb + " -> " + tr, tr));
  TensorVector results = program.run({a, b});
  return results.empty() ? Tensor() : results[0];
}

TEST(Elementwise, TheLowerRankIsAlignedToTrailingDimensions) {
  Tensor matrix = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor row = reals({3}, {10, 20, 30});
  std::string m = "tensor<2x3xf32>", r = "tensor<3xf32>", s = "tensor<f32>";
  expectNear(binary("add", matrix, row, m, r, m), {11, 22, 33, 14, 25, 36});
  expectNear(binary("sub", row, matrix, r, m, m), {9, 18, 27, 6, 15, 24});
  expectNear(binary("mul", matrix, Tensor::scalar(2), m, s, m),
             {2, 4, 6, 8, 10, 12});
  expectNear(binary("div", Tensor::scalar(6), matrix, s, m, m),
             {6, 3, 2, 1.5, 1.2, 1});
}

TEST(Elementwise, NanWinsInMaximumAndMinimum) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::string t = "tensor<3xf32>";
  Tensor a = reals({3}, {1, nan, 5}), b = reals({3}, {2, 3, nan});
  Tensor larger = binary("maximum", a, b, t, t, t),
         smaller = binary("minimum", a, b, t, t, t);
  EXPECT_EQ(larger.getFloats()[0], 2);
  EXPECT_EQ(smaller.getFloats()[0], 1);
  for (int i : {1, 2}) {
    EXPECT_TRUE(std::isnan(larger.getFloats()[i]));
    EXPECT_TRUE(std::isnan(smaller.getFloats()[i]));
  }
}

TEST(Elementwise, IntegersAddAndDivideTowardZero) {
  std::string t = "tensor<3xi32>";
  Tensor a = integers({3}, {7, -7, 1}), b = integers({3}, {2, 2, 5});
  expectInts(binary("add", a, b, t, t, t), {9, -5, 6});
  expectInts(binary("div", a, b, t, t, t), {3, -3, 0});
}

TEST(Elementwise, IntegerDivisionByZeroIsAnError) {
  TestProgram program(oneOp(
      "%a: tensor<1xi32>",
      "stretto.div %a, %a : tensor<1xi32>, tensor<1xi32> -> tensor<1xi32>",
      "tensor<1xi32>"));
  Machine machine(program.get(), MeshAttr(), 1, 1);
  EXPECT_TRUE(mlir::failed(
      machine.call(program.find<SegmentOp>("f"), {{integers({1}, {0})}})));
  EXPECT_NE(program.errors.find("divides an integer by zero"),
            std::string::npos);
}

static Tensor compare(const std::string &predicate, const Tensor &a,
                      const Tensor &b) {
  TestProgram program(
      oneOp("%a: tensor<3xf32>, %b: tensor<3xf32>",
            "stretto.compare " + predicate +
                " %a, %b : tensor<3xf32>, tensor<3xf32> -> tensor<3xi1>",
            "tensor<3xi1>"));
  return program.run({a, b})[0];
}

TEST(Elementwise, ComparisonsAreOrderedExceptNe) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor a = reals({3}, {1, 2, nan}), b = reals({3}, {2, 2, 2});
  expectInts(compare("eq", a, b), {0, 1, 0});
  expectInts(compare("ne", a, b), {1, 0, 1});
  expectInts(compare("lt", a, b), {1, 0, 0});
  expectInts(compare("le", a, b), {1, 1, 0});
  expectInts(compare("gt", a, b), {0, 0, 0});
  expectInts(compare("ge", a, b), {0, 1, 0});
}

TEST(Elementwise, SelectBroadcastsItsOperands) {
  TestProgram program(oneOp(
      "%c: tensor<2x2xi1>, %t: tensor<2xf32>, %f: tensor<f32>",
      "stretto.select %c, %t, %f : tensor<2x2xi1>, tensor<2xf32>, tensor<f32> "
      "-> tensor<2x2xf32>",
      "tensor<2x2xf32>"));
  expectNear(program.run({integers({2, 2}, {1, 0, 0, 1}), reals({2}, {1, 2}),
                          Tensor::scalar(9)})[0],
             {1, 9, 9, 2});
}

TEST(Elementwise, ConvertTruncatesAndWidens) {
  auto convert = [](const std::string &from, const std::string &to, Tensor x) {
    std::string a = "tensor<3x" + from + ">", b = "tensor<3x" + to + ">";
    TestProgram program(
        oneOp("%x: " + a, "stretto.convert %x : " + a + " -> " + b, b));
    return program.run({x})[0];
  };
  expectInts(convert("f32", "i32", reals({3}, {1.9, -1.9, 0})), {1, -1, 0});
  expectNear(convert("i32", "f32", integers({3}, {3, -4, 0})), {3, -4, 0});
  expectNear(convert("i1", "f32", integers({3}, {1, 0, 1})), {1, 0, 1});
  expectInts(convert("i32", "i1", integers({3}, {2, 0, -1})), {1, 0, 1});
}

TEST(Elementwise, MaskPadReplacesWhatLiesPastTheLogicalSize) {
  // On rank 1 of 2 the shard starts at 3 of 5: its last column is padding.
  TestProgram program(
      "module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {" +
      oneOp(
          "%x: tensor<2x3xf32>",
          "stretto.mask_pad %x {dim = 1 : i64, size = 5 : i64, value = -7.0 : "
          "f64, offset = #stretto.offset<mesh<tp = 2>, [tp * 3], microbatch * "
          "0>} : tensor<2x3xf32> -> tensor<2x3xf32>",
          "tensor<2x3xf32>") +
      "}");
  Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  auto results = program.run("f", {{x, x}}, program.mesh());
  expectNear(results[0][0], {1, 2, 3, 4, 5, 6});
  expectNear(results[0][1], {1, 2, -7, 4, 5, -7});
}
