//===- MovementKernelsTest.cpp - moved and indexed elements, compiled -----===//
//
// What moves elements, of arguments and of values computed before, alone and
// with its neighbours in a kernel, against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "gtest/gtest.h"

namespace {

TEST(Movement, ReshapesSlicesPadsAndConcats) {
  expectSame(R"(
stretto.segment @f(%x: tensor<6x34xf32>, %y: tensor<6x5xf32>) -> (tensor<3x2x34xf32>, tensor<4x51xf32>, tensor<2x11xf32>, tensor<7x70xf32>, tensor<6x73xf32>) attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<6x34xf32> -> tensor<6x34xf32>
  %a = stretto.reshape %e : tensor<6x34xf32> -> tensor<3x2x34xf32>
  %b = stretto.reshape %x : tensor<6x34xf32> -> tensor<4x51xf32>
  %t = stretto.tanh %b : tensor<4x51xf32> -> tensor<4x51xf32>
  %c = stretto.slice %e dims [0, 1] starts [1, 3] limits [5, 34] strides [2, 3] : tensor<6x34xf32> -> tensor<2x11xf32>
  %s = stretto.neg %c : tensor<2x11xf32> -> tensor<2x11xf32>
  %d = stretto.pad %x with -1.5 dims [0, 1] low [2, -1] high [-1, 4] interior [0, 1] : tensor<6x34xf32> -> tensor<7x70xf32>
  %g = stretto.concat %e, %y, %x dim 1 : tensor<6x34xf32>, tensor<6x5xf32>, tensor<6x34xf32> -> tensor<6x73xf32>
  %h = stretto.add %g, %g : tensor<6x73xf32>, tensor<6x73xf32> -> tensor<6x73xf32>
  stretto.yield %a, %t, %s, %d, %h : tensor<3x2x34xf32>, tensor<4x51xf32>, tensor<2x11xf32>, tensor<7x70xf32>, tensor<6x73xf32>
})",
             {2e-6});
}

TEST(Movement, WindowsWithOffsetsAndDilation) {
  expectSame(R"(
stretto.segment @f(%x: tensor<4x9xf32>) -> (tensor<4x5xf32>, tensor<4x20xf32>, tensor<3x9xf32>) attributes {direction = "forward"} {
  %a = stretto.window %x {dim = 1 : i64, start = -3 : i64, stride = 2 : i64, offset = #stretto.offset<mesh<dp = 2, tp = 2>, [tp * 4]>} : tensor<4x9xf32> -> tensor<4x5xf32>
  %b = stretto.window %x {dim = 1 : i64, start = -2 : i64, dilation = 3 : i64} : tensor<4x9xf32> -> tensor<4x20xf32>
  %e = stretto.exp %x : tensor<4x9xf32> -> tensor<4x9xf32>
  %c = stretto.window %e {dim = 0 : i64, start = 2 : i64} : tensor<4x9xf32> -> tensor<3x9xf32>
  stretto.yield %a, %b, %c : tensor<4x5xf32>, tensor<4x20xf32>, tensor<3x9xf32>
})",
             {2e-6}, "dp = 2, tp = 2");
}

TEST(Indexed, BoxesOfShards) {
  // Starts from 0 to 11: some are clamped (the extent is 10, on two shards).
  for (int64_t low : {0, 4, 9})
    expectSame(R"(
stretto.segment @f(%x: tensor<5x6xf32>, %u: tensor<3x6xf32>, %v: tensor<3x2xf32>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<3x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<2x3xf32>) attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<5x6xf32> -> tensor<5x6xf32>
  %a = stretto.dynamic_slice %e[%i] dims [0] {extents = array<i64: 10>, sizes = array<i64: 3>, offsets = [#stretto.offset<mesh<tp = 2>, [tp * 5]>], result_offsets = [#stretto.offset<mesh<tp = 2>, []>]} : tensor<5x6xf32>, tensor<i32> -> tensor<3x6xf32>
  %b = stretto.dynamic_update_slice %e, %u[%i] dims [0] {extents = array<i64: 10>, offsets = [#stretto.offset<mesh<tp = 2>, [tp * 5]>]} : tensor<5x6xf32>, tensor<3x6xf32>, tensor<i32> -> tensor<5x6xf32>
  %c = stretto.dynamic_update_slice %x, %v[%i, %j] dims [0, 1] {extents = array<i64: 10, 6>, offsets = [#stretto.offset<mesh<tp = 2>, [tp * 5]>, #stretto.offset<mesh<tp = 2>, []>]} : tensor<5x6xf32>, tensor<3x2xf32>, tensor<i32>, tensor<i32> -> tensor<5x6xf32>
  %d = stretto.dynamic_slice %x[%i, %j] dims [0, 1] : tensor<5x6xf32>, tensor<i32>, tensor<i32> -> tensor<2x3xf32>
  stretto.yield %a, %b, %c, %d : tensor<3x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>, tensor<2x3xf32>
})",
               {2e-6, low, low + 3}, "tp = 2");
}

TEST(Indexed, GatherAndScatterAlongAnyDimension) {
  expectSame(R"(
stretto.segment @f(%x: tensor<3x7x5xf32>, %i: tensor<4x2xi32>, %j: tensor<3x4xi32>, %u: tensor<3x4x2x5xf32>) -> (tensor<3x4x2x5xf32>, tensor<3x4x5xf32>, tensor<3x7x5xf32>, tensor<3x6x5xf32>) attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<3x7x5xf32> -> tensor<3x7x5xf32>
  %a = stretto.gather %e, %i dim 1 {offset = #stretto.offset<mesh<tp = 2>, [tp * 2]>} : tensor<3x7x5xf32>, tensor<4x2xi32> -> tensor<3x4x2x5xf32>
  %b = stretto.gather %x, %j dim 1 {batch_dims = 1 : i64} : tensor<3x7x5xf32>, tensor<3x4xi32> -> tensor<3x4x5xf32>
  %t = stretto.tanh %u : tensor<3x4x2x5xf32> -> tensor<3x4x2x5xf32>
  %c = stretto.scatter_add %i, %t dim 1 {offset = #stretto.offset<mesh<tp = 2>, [tp * 2]>} : tensor<4x2xi32>, tensor<3x4x2x5xf32> -> tensor<3x7x5xf32>
  %d = stretto.scatter_add %j, %b dim 1 {batch_dims = 1 : i64} : tensor<3x4xi32>, tensor<3x4x5xf32> -> tensor<3x6x5xf32>
  stretto.yield %a, %b, %c, %d : tensor<3x4x2x5xf32>, tensor<3x4x5xf32>, tensor<3x7x5xf32>, tensor<3x6x5xf32>
})",
             {2e-6, -1, 9}, "tp = 2");
}

TEST(Indexed, TopKArgReduceAndReductionsWithInitialValues) {
  expectSame(R"(
stretto.segment @f(%x: tensor<5x33xf32>, %y: tensor<5x33xf32>) -> (tensor<5x4xf32>, tensor<5x4xi32>, tensor<2x33xf32>, tensor<5xi32>, tensor<33xi32>, tensor<5xf32>, tensor<33xf32>, tensor<5xi1>, tensor<5xi1>) attributes {direction = "forward"} {
  %v, %i = stretto.top_k %x {dim = 1 : i64, k = 4 : i64, extent = 60 : i64, offset = #stretto.offset<mesh<tp = 2>, [tp * 33]>} : tensor<5x33xf32> -> tensor<5x4xf32>, tensor<5x4xi32>
  %w, %j = stretto.top_k %y {dim = 0 : i64, k = 2 : i64} : tensor<5x33xf32> -> tensor<2x33xf32>, tensor<2x33xi32>
  %a = stretto.arg_reduce max %x dim 1 : tensor<5x33xf32> -> tensor<5xi32>
  %b = stretto.arg_reduce min %x dim 0 : tensor<5x33xf32> -> tensor<33xi32>
  %s = stretto.reduce sum %x dims [1] {init = 5.0 : f64} : tensor<5x33xf32> -> tensor<5xf32>
  %m = stretto.reduce max %x dims [0] {init = 0.5 : f64} : tensor<5x33xf32> -> tensor<33xf32>
  %c = stretto.compare lt %x, %y : tensor<5x33xf32>, tensor<5x33xf32> -> tensor<5x33xi1>
  %p = stretto.reduce and %c dims [1] : tensor<5x33xi1> -> tensor<5xi1>
  %q = stretto.reduce or %c dims [1] : tensor<5x33xi1> -> tensor<5xi1>
  stretto.yield %v, %i, %w, %a, %b, %s, %m, %p, %q : tensor<5x4xf32>, tensor<5x4xi32>, tensor<2x33xf32>, tensor<5xi32>, tensor<33xi32>, tensor<5xf32>, tensor<33xf32>, tensor<5xi1>, tensor<5xi1>
})",
             {2e-6}, "tp = 2");
}

} // namespace
