//===- MovementTest.cpp - movement and indexing by hand -------------------===//

#include "TestProgram.h"

#include <limits>

using namespace stretto;
using namespace stretto::interp;

/// One operation on one operand of any shape.
static TensorVector runOp(const std::string &arguments, const std::string &op,
                          const std::string &types,
                          llvm::ArrayRef<Tensor> values, int results = 1) {
  TestProgram program(oneOp(arguments, op, types, results));
  return program.run(values);
}

static Tensor numbers(llvm::ArrayRef<int64_t> shape) {
  std::vector<double> data(numElements(shape));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = double(i);
  return Tensor::of(shape, std::move(data));
}

static std::vector<int64_t> intsOf(const Tensor &tensor) {
  return std::vector<int64_t>(tensor.getInts().begin(), tensor.getInts().end());
}

TEST(Movement, ReshapeKeepsTheRowMajorOrder) {
  Tensor y = runOp("%x: tensor<2x3xf32>",
                   "stretto.reshape %x : tensor<2x3xf32> -> tensor<3x2xf32>",
                   "tensor<3x2xf32>", {numbers({2, 3})})[0];
  EXPECT_EQ(y.getShape(), llvm::ArrayRef<int64_t>({3, 2}));
  expectNear(y, {0, 1, 2, 3, 4, 5});
}

TEST(Movement, SliceTakesEveryStrideThElementBelowTheLimit) {
  expectNear(runOp("%x: tensor<2x6xf32>",
                   "stretto.slice %x dims [1] starts [1] limits [6] strides "
                   "[2] : tensor<2x6xf32> -> tensor<2x3xf32>",
                   "tensor<2x3xf32>", {numbers({2, 6})})[0],
             {1, 3, 5, 7, 9, 11});
}

TEST(Movement, PadSurroundsSeparatesAndCuts) {
  // low 1, interior 1, high -1: [v 0 v 1 v 2] -> cut one of the end: 2 goes.
  expectNear(runOp("%x: tensor<3xf32>",
                   "stretto.pad %x with 9.0 dims [0] low [1] high [-1] "
                   "interior [1] : tensor<3xf32> -> tensor<5xf32>",
                   "tensor<5xf32>", {numbers({3})})[0],
             {9, 0, 9, 1, 9});
}

TEST(Movement, WindowIsAnAffineMapWithZerosOutside) {
  auto window = [](const std::string &map, int64_t size) {
    std::string type = "tensor<" + std::to_string(size) + "xf32>";
    return runOp("%x: tensor<4xf32>",
                 "stretto.window %x {dim = 0 : i64, " + map +
                     "} : tensor<4xf32> -> " + type,
                 type, {reals({4}, {1, 2, 3, 4})})[0];
  };
  expectNear(window("start = -2 : i64", 7), {0, 0, 1, 2, 3, 4, 0});
  expectNear(window("start = 1 : i64, stride = 2 : i64", 3), {2, 4, 0});
  // Position i reads element (i - 1) / 3 where that is whole.
  expectNear(window("start = -1 : i64, dilation = 3 : i64", 9),
             {0, 1, 0, 0, 2, 0, 0, 3, 0});
}

TEST(Movement, ConcatOfDifferentExtents) {
  expectNear(runOp("%x: tensor<2x1xf32>, %y: tensor<2x2xf32>",
                   "stretto.concat %x, %y dim 1 : tensor<2x1xf32>, "
                   "tensor<2x2xf32> -> tensor<2x3xf32>",
                   "tensor<2x3xf32>",
                   {reals({2, 1}, {8, 9}), numbers({2, 2})})[0],
             {8, 0, 1, 9, 2, 3});
}

static Tensor dynamicSlice(int64_t start) {
  return runOp("%x: tensor<5xf32>, %i: tensor<i32>",
               "stretto.dynamic_slice %x[%i] dims [0] : tensor<5xf32>, "
               "tensor<i32> -> tensor<2xf32>",
               "tensor<2xf32>", {numbers({5}), integers({}, {start})})[0];
}

TEST(Indexed, DynamicSliceClampsItsStart) {
  expectNear(dynamicSlice(2), {2, 3});
  expectNear(dynamicSlice(9), {3, 4});
  expectNear(dynamicSlice(-7), {0, 1});
}

TEST(Indexed, DynamicUpdateSliceClampsItsStart) {
  auto update = [](int64_t start) {
    return runOp("%x: tensor<5xf32>, %u: tensor<2xf32>, %i: tensor<i32>",
                 "stretto.dynamic_update_slice %x, %u[%i] dims [0] : "
                 "tensor<5xf32>, tensor<2xf32>, tensor<i32> -> tensor<5xf32>",
                 "tensor<5xf32>",
                 {numbers({5}), reals({2}, {8, 9}), integers({}, {start})})[0];
  };
  expectNear(update(1), {0, 8, 9, 3, 4});
  expectNear(update(4), {0, 1, 2, 8, 9});
  expectNear(update(-1), {8, 9, 2, 3, 4});
}

TEST(Indexed, GatherGivesZerosForWhatIsOutside) {
  expectNear(runOp("%x: tensor<2x3xf32>, %i: tensor<2x2xi32>",
                   "stretto.gather %x, %i dim 1 {batch_dims = 1 : i64} : "
                   "tensor<2x3xf32>, tensor<2x2xi32> -> tensor<2x2xf32>",
                   "tensor<2x2xf32>",
                   {reals({2, 3}, {1, 2, 3, 4, 5, 6}),
                    integers({2, 2}, {2, 0, 3, 1})})[0],
             {3, 1, 0, 5});
}

TEST(Indexed, ScatterAddSumsWhatMeets) {
  expectNear(
      runOp("%i: tensor<3xi32>, %u: tensor<2x3xf32>",
            "stretto.scatter_add %i, %u dim 1 : tensor<3xi32>, "
            "tensor<2x3xf32> -> tensor<2x2xf32>",
            "tensor<2x2xf32>",
            {integers({3}, {1, 1, -1}), reals({2, 3}, {1, 2, 3, 4, 5, 6})})[0],
      {0, 3, 0, 9});
}

TEST(Indexed, TopKOrdersTiesByIndexAndPutsNanFirst) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  TensorVector top =
      runOp("%x: tensor<5xf32>",
            "stretto.top_k %x {dim = 0 : i64, k = 4 : i64} : tensor<5xf32> -> "
            "tensor<4xf32>, tensor<4xi32>",
            "tensor<4xf32>, tensor<4xi32>", {reals({5}, {2, 7, nan, 7, 1})}, 2);
  EXPECT_EQ(intsOf(top[1]), (std::vector<int64_t>{2, 1, 3, 0}));
  EXPECT_EQ(top[0].getFloats()[1], 7);
}

TEST(Indexed, TopKOfShortBlocksFillsUp) {
  TensorVector top =
      runOp("%x: tensor<3xf32>",
            "stretto.top_k %x {dim = 0 : i64, k = 2 : i64, blocks = 2 : i64} : "
            "tensor<3xf32> -> tensor<4xf32>, tensor<4xi32>",
            "tensor<4xf32>, tensor<4xi32>", {reals({3}, {1, 2, 3})}, 2);
  double low = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(top[0].getFloats(), llvm::ArrayRef<double>({2, 1, 3, low}));
  EXPECT_EQ(intsOf(top[1]), (std::vector<int64_t>{1, 0, 2, 2147483647}));
}

TEST(Indexed, ArgReduceTakesTheFirst) {
  auto arg = [](const std::string &kind, std::vector<double> data) {
    return intsOf(runOp("%x: tensor<2x3xf32>",
                        "stretto.arg_reduce " + kind +
                            " %x dim 1 : tensor<2x3xf32> -> tensor<2xi32>",
                        "tensor<2xi32>", {reals({2, 3}, std::move(data))})[0]);
  };
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(arg("max", {1, 3, 3, 9, nan, nan}), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(arg("min", {2, 1, 1, 0, 5, 6}), (std::vector<int64_t>{1, 0}));
}

TEST(Reduce, AnInitialValueTakesPartOnce) {
  expectNear(runOp("%x: tensor<3xf32>",
                   "stretto.reduce sum %x dims [0] {init = 5.0 : f64} : "
                   "tensor<3xf32> -> tensor<f32>",
                   "tensor<f32>", {reals({3}, {1, 2, 3})})[0],
             {11});
  expectNear(runOp("%x: tensor<3xf32>",
                   "stretto.reduce max %x dims [0] {init = 5.0 : f64} : "
                   "tensor<3xf32> -> tensor<f32>",
                   "tensor<f32>", {reals({3}, {1, 2, 3})})[0],
             {5});
}

TEST(Reduce, AndAndOrOfBits) {
  auto reduce = [](const std::string &kind) {
    return intsOf(runOp("%x: tensor<3x2xi1>",
                        "stretto.reduce " + kind +
                            " %x dims [1] : tensor<3x2xi1> -> tensor<3xi1>",
                        "tensor<3xi1>",
                        {integers({3, 2}, {1, 1, 1, 0, 0, 0})})[0]);
  };
  EXPECT_EQ(reduce("and"), (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(reduce("or"), (std::vector<int64_t>{1, 1, 0}));
}
