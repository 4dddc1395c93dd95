// RUN: stretto-opt %s --apply-recipe --derive --verify-derived | FileCheck %s
// The form of adjoints where it matters to later rooms; that they are right is
// checked by FiniteDifferenceTest.cpp. Layers appear from the last to the first.

module attributes {stretto.recipe = {global_batch = 4 : i64, microbatches = 2 : i64, sequence = 3 : i64}} {
  // An embedding's adjoint scatters into the table's shape; index arithmetic on
  // arguments is done again, not saved.
  stretto.layer @embed(%ids: tensor<?x?xi32> dims [batch, seq],
                       params(%table: tensor<7x8xf32> dims [vocab, embed] init zeros,
                              %positions: tensor<3x8xf32> dims [position, embed] init zeros))
      -> tensor<?x?x8xf32> {
    %t = stretto.embedding %table, %ids : tensor<7x8xf32>, tensor<?x?xi32> -> tensor<?x?x8xf32>
    %i = stretto.iota %ids {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
    %p = stretto.embedding %positions, %i : tensor<3x8xf32>, tensor<?x?xi32> -> tensor<?x?x8xf32>
    %x = stretto.add %t, %p : tensor<?x?x8xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
    stretto.yield %x : tensor<?x?x8xf32>
  }

  // A bias is summed over the leading dimensions; an einsum gives two.
  stretto.layer @linear(%x: tensor<?x?x8xf32> dims [batch, seq, embed],
                        params(%w: tensor<8x8xf32> dims [embed, ffn] init zeros, %b: tensor<8xf32> dims [ffn] init zeros))
      -> tensor<?x?x8xf32> {
    %h = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<?x?x8xf32>, tensor<8x8xf32> -> tensor<?x?x8xf32>
    %y = stretto.add %h, %b : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
    stretto.yield %y : tensor<?x?x8xf32>
  }

  // Random operations take their keys here: one identity per operation, shared
  // by forward and backward; p = 0 draws nothing and goes away.
  stretto.layer @noise(%x: tensor<?x?x8xf32> dims [batch, seq, embed]) -> tensor<?x?x8xf32> {
    %a = stretto.dropout %x {p = 0.1 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
    %b = stretto.dropout %a {p = 0.0 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
    %c = stretto.dropout %b {p = 0.1 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
    stretto.yield %c : tensor<?x?x8xf32>
  }

  stretto.layer @attend(%x: tensor<?x?x8xf32> dims [batch, seq, embed], %ids: tensor<?x?xi32> dims [batch, seq],
                        params(%g: tensor<8xf32> dims [embed] init ones, %w: tensor<8x2x4xf32> dims [embed, heads, head_dim] init zeros))
      -> tensor<?x?x8xf32> {
    %n = stretto.rms_norm %x, %g {eps = 1.0e-5 : f64} : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
    %h = stretto.einsum "b s e, e h d -> b s h d" %n, %w : tensor<?x?x8xf32>, tensor<8x2x4xf32> -> tensor<?x?x2x4xf32>
    %i = stretto.iota %ids {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
    %q = stretto.rope %h, %i {base = 100.0 : f64} : tensor<?x?x2x4xf32>, tensor<?x?xi32> -> tensor<?x?x2x4xf32>
    %a, %lse = stretto.attention %q, %q, %h {causal, scale = 0.5 : f64, p = 0.2 : f64} : tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32> -> tensor<?x?x2x4xf32>, tensor<?x2x?xf32>
    %y = stretto.einsum "b s h d, e h d -> b s e" %a, %w : tensor<?x?x2x4xf32>, tensor<8x2x4xf32> -> tensor<?x?x8xf32>
    stretto.yield %y : tensor<?x?x8xf32>
  }

  stretto.layer @head(%x: tensor<?x?x8xf32> dims [batch, seq, embed], %labels: tensor<?x?xi32> dims [batch, seq],
                      %mask: tensor<?x?xf32> dims [batch, seq],
                      params(%g: tensor<8xf32> dims [embed] init ones, %b: tensor<8xf32> dims [embed] init zeros))
      -> (tensor<f32>, tensor<f32>) {
    %n = stretto.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
    %m = stretto.mask_pad %n {dim = 2 : i64, size = 7 : i64, value = -1.0e30 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
    %loss, %lse = stretto.cross_entropy %m, %labels {smoothing = 0.1 : f64} : tensor<?x?x8xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
    %w = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %s = stretto.reduce sum %w dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }

  stretto.model @m(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq], %mask: tensor<?x?xf32> dims [batch, seq]) {
    %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x8xf32>
    %1 = stretto.call @linear(%0) scope "linear" : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %2 = stretto.call @noise(%1) scope "noise" : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    %3 = stretto.call @attend(%2, %tokens) scope "attend" : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?x8xf32>
    %s, %c = stretto.call @head(%3, %labels, %mask) scope "head" : (tensor<?x?x8xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// CHECK-LABEL: stretto.segment @head.bwd(
// CHECK: %[[SEEDS:.*]] = stretto.broadcast %{{.*}} dims [] : tensor<f32> -> tensor<2x3xf32>
// CHECK: %[[DLOSS:.*]] = stretto.mul %[[SEEDS]]
// CHECK: %[[DM:.*]] = stretto.cross_entropy_grad %{{.*}}, %[[DLOSS]] {smoothing = 1.000000e-01 : f64, vocabulary = 8 : i64}
// CHECK: %[[DN:.*]] = stretto.mask_pad %[[DM]] {dim = 2 : i64, size = 7 : i64, value = 0.000000e+00 : f64}
// CHECK: stretto.layer_norm_grad %{{.*}}, %{{.*}}, %[[DN]] {eps

// CHECK-LABEL: stretto.segment @attend.fwd(
// CHECK: %[[OUT:.*]], %[[LSE:.*]] = stretto.attention {{.*}} {causal, op_id = 1 : i64, p = 2.000000e-01 : f64, samples = 2 : i64, scale = 5.000000e-01 : f64}
// CHECK-LABEL: stretto.segment @attend.bwd(
// CHECK: %[[I:.*]] = stretto.iota
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = stretto.attention_grad {{.*}} {causal, op_id = 1 : i64, p = 2.000000e-01 : f64, samples = 2 : i64, scale = 5.000000e-01 : f64}
// CHECK: %[[DQK:.*]] = stretto.add %[[DQ]], %[[DK]]
// CHECK: %[[BACK:.*]] = stretto.rope %[[DQK]], %[[I]] {base = 1.000000e+02 : f64, transposed}
// CHECK: stretto.rms_norm_grad

// CHECK-LABEL: stretto.segment @noise.fwd(
// CHECK: %[[A:.*]] = stretto.dropout %arg0 {extents = array<i64: 2, 3, 8>, op_id = 1 : i64, p = 1.000000e-01 : f64, sample_dim = 0 : i64}
// CHECK-NEXT: %[[C:.*]] = stretto.dropout %[[A]] {extents = array<i64: 2, 3, 8>, op_id = 2 : i64, p = 1.000000e-01 : f64, sample_dim = 0 : i64}
// CHECK-NEXT: stretto.yield %[[C]] : tensor
// CHECK-LABEL: stretto.segment @noise.bwd(%arg0: tensor<2x3x8xf32> {stretto.dims = ["batch", "seq", "embed"], stretto.role = "cotangent"})
// CHECK: %[[GC:.*]] = stretto.dropout %arg0 {{.*}}op_id = 2 : i64
// CHECK-NEXT: stretto.dropout %[[GC]] {{.*}}op_id = 1 : i64

// The result is not saved, nor is the hidden value that only the sum needs.
// CHECK-LABEL: stretto.segment @linear.fwd(
// CHECK: stretto.yield %{{[0-9]+}} : tensor<2x3x8xf32>
// CHECK-LABEL: stretto.segment @linear.bwd(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x3x8xf32> {{{[^}]*}}"activation"
// CHECK: %[[W:[a-z0-9]+]]: tensor<8x8xf32> {{{[^}]*}}"param"
// CHECK: %[[G:[a-z0-9]+]]: tensor<2x3x8xf32> {{{[^}]*}}"cotangent"
// CHECK-DAG: stretto.reduce sum %[[G]] dims [0, 1] : tensor<2x3x8xf32> -> tensor<8xf32>
// CHECK-DAG: stretto.einsum "b s f, e f -> b s e" %[[G]], %[[W]]
// CHECK-DAG: stretto.einsum "b s e, b s f -> e f" %[[X]], %[[G]]

// CHECK-LABEL: stretto.segment @embed.fwd(
// CHECK: stretto.yield %{{[0-9]+}} : tensor<2x3x8xf32>
// CHECK-LABEL: stretto.segment @embed.bwd(%arg0: tensor<2x3xi32>
// CHECK: stretto.iota %arg0
// CHECK: stretto.embedding_grad {{.*}} -> tensor<3x8xf32>
// CHECK: stretto.embedding_grad {{.*}} -> tensor<7x8xf32>

// Evaluation draws nothing.
// CHECK-LABEL: stretto.segment @attend.eval(
// CHECK: stretto.attention {{.*}} {causal, scale = 5.000000e-01 : f64}
// CHECK-LABEL: stretto.segment @noise.eval(
// CHECK-NEXT: stretto.yield %arg0
