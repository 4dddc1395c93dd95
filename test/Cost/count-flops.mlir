// RUN: stretto-opt %s -count-flops | FileCheck %s

// Forward FLOPs by hand, times 3, times 4 micro-batches, times 2 instances:
//   einsum    2 * 2*8*16*32                     =  16384
//   attention 2 products of 2 * 2*4*8*8 * 8     =  16384 full,
//             of 2 * 2*4*36 * 8                 =   9216 causal (8*9/2 = 36 pairs)
// full  (16384 + 16384) * 24 = 786432, causal (16384 + 9216) * 24 = 614400.
// What is not a forward, and @eval, does not count.

// CHECK: module attributes {stretto.model_flops = 7.864320e+05 : f64, stretto.model_flops_causal = 6.144000e+05 : f64, stretto.vocabulary = 11 : i64}
module {
  stretto.segment @l.fwd(%x: tensor<2x8x16xf32>, %w: tensor<16x32xf32>, %q: tensor<2x8x4x8xf32>) -> tensor<2x8x32xf32> attributes {direction = "forward"} {
    %y = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
    %o, %l = stretto.attention %q, %q, %q {scale = 1.0 : f64, causal} : tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32> -> tensor<2x8x4x8xf32>, tensor<2x4x8xf32>
    %g = stretto.gelu %y : tensor<2x8x32xf32> -> tensor<2x8x32xf32>
    stretto.yield %g : tensor<2x8x32xf32>
  }
  stretto.segment @l.bwd(%x: tensor<2x8x16xf32>, %w: tensor<16x32xf32>) -> tensor<2x8x32xf32> attributes {direction = "backward"} {
    %y = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<2x8x16xf32>, tensor<16x32xf32> -> tensor<2x8x32xf32>
    stretto.yield %y : tensor<2x8x32xf32>
  }
  stretto.segment @head.fwd(%logits: tensor<2x8x11xf32>, %labels: tensor<2x8xi32>) -> tensor<2x8xf32> attributes {direction = "forward"} {
    %loss, %lse = stretto.cross_entropy %logits, %labels : tensor<2x8x11xf32>, tensor<2x8xi32> -> tensor<2x8xf32>, tensor<2x8xf32>
    stretto.yield %loss : tensor<2x8xf32>
  }
  stretto.step @train(%x: tensor<4x2x8x16xf32> {stretto.binding = "input:x"}, %w: tensor<16x32xf32>, %q: tensor<4x2x8x4x8xf32>) {
    stretto.microbatches 4 inputs(%x, %q) carried() : (tensor<4x2x8x16xf32>, tensor<4x2x8x4x8xf32>) -> () {
    ^bb0(%xk: tensor<2x8x16xf32>, %qk: tensor<2x8x4x8xf32>):
      %a = stretto.invoke @l.fwd(%xk, %w, %qk) instance "layers.0" : (tensor<2x8x16xf32>, tensor<16x32xf32>, tensor<2x8x4x8xf32>) -> tensor<2x8x32xf32>
      %b = stretto.invoke @l.fwd(%xk, %w, %qk) instance "layers.1" : (tensor<2x8x16xf32>, tensor<16x32xf32>, tensor<2x8x4x8xf32>) -> tensor<2x8x32xf32>
      %c = stretto.invoke @l.bwd(%xk, %w) instance "layers.1" : (tensor<2x8x16xf32>, tensor<16x32xf32>) -> tensor<2x8x32xf32>
      stretto.yield
    }
    stretto.yield
  }
  stretto.step @eval(%x: tensor<2x8x16xf32>, %w: tensor<16x32xf32>, %q: tensor<2x8x4x8xf32>) {
    %a = stretto.invoke @l.fwd(%x, %w, %q) instance "layers.0" : (tensor<2x8x16xf32>, tensor<16x32xf32>, tensor<2x8x4x8xf32>) -> tensor<2x8x32xf32>
    stretto.yield
  }
}
