// RUN: stretto-opt %s --propagate --assign --plan-reshards --localize --verify-local | FileCheck %s
// Three kv heads with two queries each on two ranks: a rank gets two kv heads
// with their four queries, the last rank one and padding. The six queries alone
// would split three and three.

module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // CHECK-LABEL: stretto.segment @attn.fwd
  // CHECK-SAME: tensor<4x8x3x4xf32>
  // CHECK-SAME: tensor<4x8x2x4xf32>
  // CHECK: stretto.attention
  // CHECK-SAME: tensor<4x8x4x4xf32>, tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32> -> tensor<4x8x4x4xf32>, tensor<4x4x8xf32>
  // CHECK: stretto.yield %{{.*}} : tensor<4x8x3x4xf32>
  stretto.segment @attn.fwd(
      %q: tensor<4x8x6x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}, {tp}, {}]>},
      %k: tensor<4x8x3x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}, {tp}, {}]>})
      -> (tensor<4x8x6x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}, {tp}, {}]>})
      attributes {direction = "forward"} {
    %out, %lse = stretto.attention %q, %k, %k {causal, scale = 0.5 : f64} : tensor<4x8x6x4xf32>, tensor<4x8x3x4xf32>, tensor<4x8x3x4xf32> -> tensor<4x8x6x4xf32>, tensor<4x6x8xf32>
    stretto.yield %out : tensor<4x8x6x4xf32>
  }
  stretto.step @predict(%q: tensor<1x4x8x6x4xf32> {stretto.binding = "input:q"}, %k: tensor<1x4x8x3x4xf32> {stretto.binding = "input:k"}) {
    stretto.microbatches 1 inputs(%q, %k) carried() : (tensor<1x4x8x6x4xf32>, tensor<1x4x8x3x4xf32>) -> () {
    ^bb0(%qk: tensor<4x8x6x4xf32>, %kk: tensor<4x8x3x4xf32>):
      %o = stretto.invoke @attn.fwd(%qk, %kk) instance "attn" : (tensor<4x8x6x4xf32>, tensor<4x8x3x4xf32>) -> tensor<4x8x6x4xf32>
      stretto.yield
    }
    stretto.yield
  }
}
