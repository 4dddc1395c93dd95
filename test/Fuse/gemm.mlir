// RUN: stretto-opt %s -fuse | FileCheck %s
// Dimensions of an einsum collapse to batch, m, n and k; transposes are strides.

// CHECK-LABEL: stretto.segment @forms
stretto.segment @forms(%x: tensor<2x5x12xf32>, %w: tensor<12x3x4xf32>, %dq: tensor<2x5x3x4xf32>, %k: tensor<2x6x3x4xf32>, %acc: tensor<12x3x4xf32>)
   -> (tensor<2x5x3x4xf32>, tensor<12x3x4xf32> {stretto.alias = 4 : i64}, tensor<2x3x5x6xf32>, tensor<2x5x12xf32>) attributes {direction = "forward"} {
  // CHECK: stretto.gemm %arg0, %arg1 {a_batch = array<i64>, a_strides = array<i64: 12, 1>, b_batch = array<i64>, b_strides = array<i64: 12, 1>, batch = array<i64>, c_batch = array<i64>, c_strides = array<i64: 12, 1>, k = 12 : i64, m = 10 : i64, n = 12 : i64}
  %q = stretto.einsum "b s e, e h d -> b s h d" %x, %w : tensor<2x5x12xf32>, tensor<12x3x4xf32> -> tensor<2x5x3x4xf32>
  // Weight gradient: x transposed by strides, added in the accumulator's place.
  // CHECK-NEXT: stretto.gemm %arg0, %arg2 acc %arg4 : tensor<12x3x4xf32> {a_batch = array<i64>, a_strides = array<i64: 1, 12>, b_batch = array<i64>, b_strides = array<i64: 12, 1>, batch = array<i64>, c_batch = array<i64>, c_strides = array<i64: 12, 1>, k = 10 : i64, m = 12 : i64, n = 12 : i64}
  %g = stretto.einsum "b s e, b s h d -> e h d" %x, %dq : tensor<2x5x12xf32>, tensor<2x5x3x4xf32> -> tensor<12x3x4xf32>
  %n = stretto.add %acc, %g : tensor<12x3x4xf32>, tensor<12x3x4xf32> -> tensor<12x3x4xf32>
  // Batches that do not collapse.
  // CHECK-NEXT: stretto.gemm %arg2, %arg3 {a_batch = array<i64: 60, 4>, a_strides = array<i64: 12, 1>, b_batch = array<i64: 72, 4>, b_strides = array<i64: 1, 12>, batch = array<i64: 2, 3>, c_batch = array<i64: 90, 30>, c_strides = array<i64: 6, 1>, k = 4 : i64, m = 5 : i64, n = 6 : i64}
  %s = stretto.einsum "b q h d, b k h d -> b h q k" %dq, %k : tensor<2x5x3x4xf32>, tensor<2x6x3x4xf32> -> tensor<2x3x5x6xf32>
  // A sum of products: the second adds to the first.
  // CHECK-NEXT: %[[A:.*]] = stretto.gemm %arg2, %arg1
  // CHECK-NEXT: stretto.gemm %{{.*}}, %arg1 acc %[[A]]
  %d1 = stretto.einsum "b s h d, e h d -> b s e" %dq, %w : tensor<2x5x3x4xf32>, tensor<12x3x4xf32> -> tensor<2x5x12xf32>
  %d2 = stretto.einsum "b s h d, e h d -> b s e" %q, %w : tensor<2x5x3x4xf32>, tensor<12x3x4xf32> -> tensor<2x5x12xf32>
  %d = stretto.add %d1, %d2 : tensor<2x5x12xf32>, tensor<2x5x12xf32> -> tensor<2x5x12xf32>
  stretto.yield %q, %n, %s, %d : tensor<2x5x3x4xf32>, tensor<12x3x4xf32>, tensor<2x3x5x6xf32>, tensor<2x5x12xf32>
}

// Contracted dimensions in two orders: one operand is transposed first.
// CHECK-LABEL: stretto.segment @crossed
// CHECK: %[[T:.*]] = stretto.launch @{{.*}}transpose
// CHECK: stretto.gemm
// CHECK-SAME: k = 35 : i64
stretto.segment @crossed(%x: tensor<3x5x7xf32>, %y: tensor<7x5x2xf32>) -> tensor<3x2xf32> attributes {direction = "forward"} {
  %z = stretto.einsum "i j k, k j l -> i l" %x, %y : tensor<3x5x7xf32>, tensor<7x5x2xf32> -> tensor<3x2xf32>
  stretto.yield %z : tensor<3x2xf32>
}

// Nothing to contract, or no matrix: a kernel.
// CHECK-LABEL: stretto.segment @no_product
// CHECK-NOT: stretto.gemm
stretto.segment @no_product(%x: tensor<5x7xf32>, %y: tensor<5x7xf32>) -> (tensor<5xf32>, tensor<5x7xf32>) attributes {direction = "forward"} {
  %a = stretto.einsum "i j, i j -> i" %x, %y : tensor<5x7xf32>, tensor<5x7xf32> -> tensor<5xf32>
  %b = stretto.einsum "i j, i j -> i j" %x, %y : tensor<5x7xf32>, tensor<5x7xf32> -> tensor<5x7xf32>
  stretto.yield %a, %b : tensor<5xf32>, tensor<5x7xf32>
}
