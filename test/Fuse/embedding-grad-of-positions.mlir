// RUN: stretto-opt %s --fuse | FileCheck %s
// The ids of learned positions do not depend on the sample: the scatter still adds up over samples.

module attributes {stretto.mesh = #stretto.mesh<dp = 1>} {
  // CHECK-LABEL: stretto.segment @positions
  // CHECK: stretto.launch @
  // CHECK-NOT: stretto.embedding_grad
  // CHECK: stretto.yield
  stretto.segment @positions(%tokens: tensor<2x8xi32>, %dy: tensor<2x8x32xf32>) -> tensor<16x32xf32> attributes {direction = "backward"} {
    %ids = stretto.iota %tokens {dim = 1 : i64} : tensor<2x8xi32> -> tensor<2x8xi32>
    %g = stretto.embedding_grad %ids, %dy : tensor<2x8xi32>, tensor<2x8x32xf32> -> tensor<16x32xf32>
    stretto.yield %g : tensor<16x32xf32>
  }
}
