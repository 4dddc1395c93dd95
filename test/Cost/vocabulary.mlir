// RUN: stretto-opt %s -split-input-file -count-flops | FileCheck %s
// Tokens and labels are below the smallest table that they are looked up in.

// CHECK: module attributes {{.*}}stretto.vocabulary = 11 : i64
module {
  stretto.segment @embed.fwd(%ids: tensor<2x8xi32>, %table: tensor<16x4xf32>) -> tensor<2x8x4xf32> attributes {direction = "forward"} {
    %h = stretto.embedding %table, %ids : tensor<16x4xf32>, tensor<2x8xi32> -> tensor<2x8x4xf32>
    stretto.yield %h : tensor<2x8x4xf32>
  }
  stretto.segment @head.fwd(%logits: tensor<2x8x11xf32>, %labels: tensor<2x8xi32>) -> tensor<2x8xf32> attributes {direction = "forward"} {
    %loss, %lse = stretto.cross_entropy %logits, %labels : tensor<2x8x11xf32>, tensor<2x8xi32> -> tensor<2x8xf32>, tensor<2x8xf32>
    stretto.yield %loss : tensor<2x8xf32>
  }
  stretto.step @train() {
    stretto.yield
  }
}

// -----

// A table of tokens alone bounds them; one of positions, whose numbers are made inside, does not.
// CHECK: module attributes {{.*}}stretto.vocabulary = 16 : i64
module {
  stretto.segment @embed.fwd(%ids: tensor<2x8xi32>, %table: tensor<16x4xf32>, %places: tensor<8x4xf32>) -> tensor<2x8x4xf32> attributes {direction = "forward"} {
    %h = stretto.embedding %table, %ids : tensor<16x4xf32>, tensor<2x8xi32> -> tensor<2x8x4xf32>
    %at = stretto.iota %ids {dim = 1 : i64} : tensor<2x8xi32> -> tensor<2x8xi32>
    %p = stretto.embedding %places, %at : tensor<8x4xf32>, tensor<2x8xi32> -> tensor<2x8x4xf32>
    %x = stretto.add %h, %p : tensor<2x8x4xf32>, tensor<2x8x4xf32> -> tensor<2x8x4xf32>
    stretto.yield %x : tensor<2x8x4xf32>
  }
  stretto.step @train() {
    stretto.yield
  }
}

// -----

// Nothing is looked up: every integer is good.
// CHECK: module attributes {
// CHECK-NOT: stretto.vocabulary
module {
  stretto.step @train() {
    stretto.yield
  }
}
