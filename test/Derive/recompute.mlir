// RUN: sed 's/@POLICY@/stretto.recompute = []/' %s | stretto-opt --apply-recipe --derive --unbundle | FileCheck %s --check-prefix=NONE
// RUN: sed 's/@POLICY@/stretto.recompute = ["selective"]/' %s | stretto-opt --apply-recipe --derive --unbundle | FileCheck %s --check-prefix=SELECTIVE
// RUN: sed 's/@POLICY@/stretto.recompute = ["full"]/' %s | stretto-opt --apply-recipe --derive --unbundle | FileCheck %s --check-prefix=FULL
// RUN: sed 's/@POLICY@/stretto.recompute = ["silu", "dropout"]/' %s | stretto-opt --apply-recipe --derive --unbundle | FileCheck %s --check-prefix=NAMED
// RUN: sed 's/@POLICY@/stretto.recompute = ["silo"]/' %s | not stretto-opt --apply-recipe --derive 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: sed 's/@POLICY@/stretto.recompute = "full"/' %s | not stretto-opt --apply-recipe --derive 2>&1 | FileCheck %s --check-prefix=WORD
// Backward keeps the fewest bytes that the policy of an instance allows and does
// the rest again, with the same random numbers. Instances under two policies
// are two segments. What is saved last is used at once: the head repeats nothing.

module attributes {stretto.recipe = {global_batch = 8 : i64, sequence = 6 : i64}} {
  stretto.layer @embed(%ids: tensor<?x?xi32> dims [batch, seq],
                       params(%table: tensor<11x4xf32> dims [vocab, embed] init normal(0.02)))
      -> tensor<?x?x4xf32> {
    %x = stretto.embedding %table, %ids : tensor<11x4xf32>, tensor<?x?xi32> -> tensor<?x?x4xf32>
    stretto.yield %x : tensor<?x?x4xf32>
  }
  stretto.layer @block(%x: tensor<?x?x4xf32> dims [batch, seq, embed],
                       params(%g: tensor<4xf32> dims [embed] init ones,
                              %w1: tensor<4x16xf32> dims [embed, ffn] init normal(0.02),
                              %w2: tensor<16x4xf32> dims [ffn, embed] init normal(0.02)))
      -> tensor<?x?x4xf32> {
    %n = stretto.rms_norm %x, %g {eps = 1.0e-5 : f64} : tensor<?x?x4xf32>, tensor<4xf32> -> tensor<?x?x4xf32>
    %h = stretto.einsum "b s e, e f -> b s f" %n, %w1 : tensor<?x?x4xf32>, tensor<4x16xf32> -> tensor<?x?x16xf32>
    %a = stretto.silu %h : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
    %d = stretto.dropout %a {p = 0.1 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
    %o = stretto.einsum "b s f, f e -> b s e" %d, %w2 : tensor<?x?x16xf32>, tensor<16x4xf32> -> tensor<?x?x4xf32>
    %y = stretto.add %x, %o : tensor<?x?x4xf32>, tensor<?x?x4xf32> -> tensor<?x?x4xf32>
    stretto.yield %y : tensor<?x?x4xf32>
  }
  stretto.layer @head(%x: tensor<?x?x4xf32> dims [batch, seq, embed], %labels: tensor<?x?xi32> dims [batch, seq],
                      %mask: tensor<?x?xf32> dims [batch, seq],
                      params(%table: tensor<11x4xf32> dims [vocab, embed]))
      -> (tensor<f32>, tensor<f32>) {
    %l = stretto.einsum "b s e, v e -> b s v" %x, %table : tensor<?x?x4xf32>, tensor<11x4xf32> -> tensor<?x?x11xf32>
    %loss, %lse = stretto.cross_entropy %l, %labels : tensor<?x?x11xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
    %w = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %s = stretto.reduce sum %w dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @gpt(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                     %mask: tensor<?x?xf32> dims [batch, seq]) {
    %h0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x4xf32>
    %h1 = stretto.call @block(%h0) scope "layers.0" {@POLICY@} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %h2 = stretto.call @block(%h1) scope "layers.1" : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %s, %c = stretto.call @head(%h2, %labels, %mask) scope "head" bind {table = "embed.table"} {@POLICY@}
      : (tensor<?x?x4xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// Kept: the norm's result, what goes into silu and what comes out of dropout.
// NONE: stretto.segment @block.fwd(
// NONE-COUNT-3: stretto.role = "saved"
// NONE-NEXT: attributes
// NONE: stretto.segment @block.bwd(
// NONE-NOT: stretto.silu
// NONE: stretto.yield
// NONE-NOT: @block.1.fwd

// Kept: what goes into silu.
// SELECTIVE: stretto.segment @block.1.fwd(
// SELECTIVE: %[[H:.*]] = stretto.einsum "b s e, e f -> b s f"
// SELECTIVE: stretto.dropout {{.*}} {{.*}}op_id = 1
// SELECTIVE: stretto.yield %{{[a-z0-9]+}}, %[[H]] :
// SELECTIVE: stretto.segment @block.1.bwd(%[[SAVED:[a-z0-9]+]]: tensor<8x6x16xf32> {{{[^}]*}}stretto.role = "saved"}
// SELECTIVE-NEXT: tensor<8x6x4xf32> {{{[^}]*}}stretto.role = "activation"}
// SELECTIVE: stretto.rms_norm
// SELECTIVE-NOT: stretto.einsum "b s e, e f -> b s f"
// SELECTIVE: stretto.silu %[[SAVED]]
// SELECTIVE: stretto.dropout {{.*}}op_id = 1

// Kept: nothing but the argument. The last product has no reader.
// FULL: stretto.segment @head.fwd(
// FULL: stretto.role = "saved"
// FULL: stretto.segment @block.1.fwd(
// FULL-NOT: stretto.role = "saved"
// FULL: stretto.segment @block.1.bwd(
// FULL-NOT: stretto.role = "saved"
// FULL: stretto.rms_norm
// FULL: stretto.einsum "b s e, e f -> b s f"
// FULL: stretto.silu
// FULL: stretto.dropout {{.*}}op_id = 1
// FULL-NOT: stretto.einsum "b s f, f e -> b s e"
// FULL: stretto.yield

// Kept: the norm's result and what goes into silu.
// NAMED: stretto.segment @block.1.fwd(
// NAMED-COUNT-2: stretto.role = "saved"
// NAMED-NEXT: attributes
// NAMED: stretto.segment @block.1.bwd(
// NAMED-NOT: stretto.rms_norm %
// NAMED: stretto.silu

// UNKNOWN: error: 'stretto.call' op does not know what to recompute as 'silo'; did you mean 'silu'?
// WORD: error: 'stretto.call' op stretto.recompute is a list of words, such as ["selective"], got "full"
