// RUN: stretto-opt %s --apply-recipe=microbatches=1 --derive --verify-derived --unbundle | FileCheck %s
// RUN: sed 's/compute = "bf16"/compute = "bf16", gradients = "bf16"/' %s | stretto-opt --apply-recipe=microbatches=1 --derive --verify-derived | FileCheck %s --check-prefix=NARROW
// RUN: sed 's/compute = "bf16"/compute = "f16"/' %s | not stretto-opt --apply-recipe --derive 2>&1 | FileCheck %s --check-prefix=WORD
// Layers read bf16 copies of f32 parameters; losses, counts, log-sum-exps and
// gradients are f32. A layer that gets a mask from the model and one that gets an
// activation are different layers then.

// WORD: recipe entry 'compute' is "f16"; known: f32 bf16

module attributes {stretto.recipe = {global_batch = 8 : i64, sequence = 6 : i64, compute = "bf16"}} {
  stretto.layer @embed(%ids: tensor<?x?xi32> dims [batch, seq],
                       params(%table: tensor<11x4xf32> dims [vocab, embed] init normal(0.02)))
      -> tensor<?x?x4xf32> {
    %x = stretto.embedding %table, %ids : tensor<11x4xf32>, tensor<?x?xi32> -> tensor<?x?x4xf32>
    stretto.yield %x : tensor<?x?x4xf32>
  }
  stretto.layer @scale(%x: tensor<?x?x4xf32> dims [batch, seq, embed],
                       params(%g: tensor<4xf32> dims [embed] init ones))
      -> tensor<?x?x4xf32> {
    %c = stretto.constant 1.000000e-01 : tensor<f32>
    %h = stretto.mul %g, %c : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
    %y = stretto.mul %x, %h : tensor<?x?x4xf32>, tensor<4xf32> -> tensor<?x?x4xf32>
    stretto.yield %y : tensor<?x?x4xf32>
  }
  stretto.layer @head(%x: tensor<?x?x4xf32> dims [batch, seq, embed], %f: tensor<?x?x4xf32> dims [batch, seq, embed],
                      %labels: tensor<?x?xi32> dims [batch, seq],
                      params(%table: tensor<11x4xf32> dims [vocab, embed]))
      -> (tensor<f32>, tensor<f32>) {
    %sum = stretto.add %x, %f : tensor<?x?x4xf32>, tensor<?x?x4xf32> -> tensor<?x?x4xf32>
    %l = stretto.einsum "b s e, v e -> b s v" %sum, %table : tensor<?x?x4xf32>, tensor<11x4xf32> -> tensor<?x?x11xf32>
    %loss, %lse = stretto.cross_entropy %l, %labels : tensor<?x?x11xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
    %zero = stretto.constant 0.0 : tensor<i32>
    %some = stretto.compare ge %labels, %zero : tensor<?x?xi32>, tensor<i32> -> tensor<?x?xi1>
    %mask = stretto.convert %some : tensor<?x?xi1> -> tensor<?x?xf32>
    %w = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %s = stretto.reduce sum %w dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    // The mean square of what the head reads is a part of the loss: its sum is f32.
    %q = stretto.mul %sum, %sum : tensor<?x?x4xf32>, tensor<?x?x4xf32> -> tensor<?x?x4xf32>
    %z = stretto.reduce sum %q dims [0, 1, 2] : tensor<?x?x4xf32> -> tensor<f32>
    %t = stretto.add %s, %z : tensor<f32>, tensor<f32> -> tensor<f32>
    %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %t, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                   %features: tensor<?x?x4xf32> dims [batch, seq, embed]) {
    %h0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x4xf32>
    %h1 = stretto.call @scale(%h0) scope "first" : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %f1 = stretto.call @scale(%features) scope "second" : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %s, %c = stretto.call @head(%h1, %f1, %labels) scope "head" bind {table = "embed.table"}
      : (tensor<?x?x4xf32>, tensor<?x?x4xf32>, tensor<?x?xi32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// The loss per token meets a mask in f32; a mean square of 16-bit values is
// summed in f32.
// CHECK-LABEL: stretto.segment @head.fwd(
// CHECK-SAME: %[[X:.*]]: tensor<8x6x4xbf16>
// CHECK: %[[SUM:.*]] = stretto.add
// CHECK-SAME: -> tensor<8x6x4xbf16>
// CHECK: stretto.cross_entropy {{.*}} : tensor<8x6x11xbf16>, tensor<8x6xi32> -> tensor<8x6xf32>, tensor<8x6xf32>
// CHECK: stretto.mul %loss{{.*}} : tensor<8x6xf32>, tensor<8x6xf32>
// CHECK: %[[Q:.*]] = stretto.mul %[[SUM]], %[[SUM]]
// CHECK: stretto.reduce sum %[[Q]] {{.*}} : tensor<8x6x4xbf16> -> tensor<f32>

// CHECK-LABEL: stretto.segment @head.bwd(
// CHECK: stretto.einsum {{.*}} -> tensor<8x6x4xbf16>
// CHECK: stretto.einsum {{.*}} : tensor<8x6x4xbf16>, tensor<8x6x11xbf16> -> tensor<11x4xf32>
// CHECK: -> tensor<11x4xf32>

// What the model is given is f32 until it meets a parameter.
// CHECK-LABEL: stretto.segment @scale_0.fwd(
// CHECK-SAME: tensor<8x6x4xf32>
// CHECK-LABEL: stretto.segment @scale_0.bwd(
// CHECK-LABEL: stretto.segment @scale.fwd(
// CHECK-SAME: tensor<8x6x4xbf16>
// CHECK: stretto.constant {{.*}} : tensor<bf16>

// The gradient goes through two operations after its reduction: they are done
// in f32 as well.
// CHECK-LABEL: stretto.segment @scale.bwd(
// CHECK: %[[F:.*]] = stretto.constant {{.*}} : tensor<f32>
// CHECK: %[[R:.*]] = stretto.reduce sum {{.*}} : tensor<8x6x4xbf16> -> tensor<4xf32>
// CHECK: %[[G:.*]] = stretto.mul %[[R]], %[[F]] : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
// CHECK: stretto.add {{.*}}, %[[G]] : tensor<4xf32>

// The tied table is copied once.
// CHECK-LABEL: stretto.step @train(
// CHECK: invoke @embed.gather({{.*}} instance "embed" : (tensor<11x4xf32>) -> tensor<11x4xbf16>
// CHECK-NOT: invoke @{{embed|head}}.gather
// CHECK: stretto.segment

// NARROW-LABEL: stretto.segment @scale.bwd(
// NARROW: stretto.reduce sum {{.*}} : tensor<8x6x4xbf16> -> tensor<4xbf16>
// NARROW: stretto.add {{.*}} : tensor<4xbf16>, tensor<4xbf16> -> tensor<4xbf16>
