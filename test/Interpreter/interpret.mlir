// RUN: stretto-interpret %s --entry third | FileCheck %s
// RUN: stretto-interpret %s --entry third --hex | FileCheck %s --check-prefix=HEX
// RUN: stretto-interpret %s --compare @softmax @byhand | FileCheck %s --check-prefix=SAME
// RUN: not stretto-interpret %s --compare @softmax @unshifted | FileCheck %s --check-prefix=OTHER
// RUN: not stretto-interpret %s --entry nothing 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: stretto-interpret %s --entry rank --ranks | FileCheck %s --check-prefix=RANKS
// Entry points are evaluated, compared, and refused by name.

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {

// CHECK: result0 2: [0.333333333, 0.333333333]
// CHECK: result1 2x2: [0, 0, 1, 1]
// HEX: result0 2: [0x3fd5555555555555, 0x3fd5555555555555]
stretto.segment @third() -> (tensor<2xf32>, tensor<2x2xi32>) attributes {direction = "forward"} {
  %one = stretto.constant 1.0 : tensor<2xf32>
  %three = stretto.constant 3.0 : tensor<f32>
  %r = stretto.div %one, %three : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %like = stretto.constant 0.0 : tensor<2x2xf32>
  %i = stretto.iota %like {dim = 0 : i64} : tensor<2x2xf32> -> tensor<2x2xi32>
  stretto.yield %r, %i : tensor<2xf32>, tensor<2x2xi32>
}

// SAME: result0: max difference {{[0-9.]+}}e-1{{[6-9]$}}
stretto.segment @softmax(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) attributes {direction = "forward"} {
  %y = stretto.softmax %x {dim = 1 : i64} : tensor<3x5xf32> -> tensor<3x5xf32>
  stretto.yield %y : tensor<3x5xf32>
}
stretto.segment @byhand(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<3x5xf32> -> tensor<3x5xf32>
  %s = stretto.reduce sum %e dims [1] : tensor<3x5xf32> -> tensor<3xf32>
  %b = stretto.broadcast %s dims [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = stretto.div %e, %b : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  stretto.yield %y : tensor<3x5xf32>
}
// OTHER: result0: max difference {{.*}} TOO LARGE
stretto.segment @unshifted(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) attributes {direction = "forward"} {
  %y = stretto.exp %x : tensor<3x5xf32> -> tensor<3x5xf32>
  stretto.yield %y : tensor<3x5xf32>
}

// MISSING: interpret.mlir:[[#@LINE-32]]:1: error: has no @nothing

// RANKS: result0 on rank 0 2: [0, 1]
// RANKS: result0 on rank 1 2: [2, 3]
stretto.segment @rank(%x: tensor<2xf32>) -> (tensor<2xi32>) attributes {direction = "forward"} {
  %i = stretto.iota %x {dim = 0 : i64, offset = #stretto.offset<mesh<dp = 2>, [dp * 2], microbatch * 0>} : tensor<2xf32> -> tensor<2xi32>
  stretto.yield %i : tensor<2xi32>
}
}
