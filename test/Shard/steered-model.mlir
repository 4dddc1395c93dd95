// RUN: rm -rf %t && mkdir %t
// RUN: printf 'recipe: 1\nbatch: { global: 4 }\nsequence: 5\n' > %t/recipe.yaml
// RUN: printf 'plan: 1\nmesh: { dp: 2, tp: 4 }\nshard: { match: "*", batch: dp, ffn: tp, vocab: tp }\n' > %t/plan.yaml
// RUN: stretto check %s --executable no --recipe %t/recipe.yaml --plan %t/plan.yaml | FileCheck %s
// RUN: stretto compile %s --recipe %t/recipe.yaml --plan %t/plan.yaml --stop-after localize -o - | FileCheck %s --check-prefix=LOCAL
// CHECK: equal: {{[0-9]+ of [0-9]+}} tensors within tolerance 1e-10
//
// A model may steer where its values lie. The hidden layer changes to half of tp between its two products, forward and
// (by its cotangent) backward; a gate that nobody would shard lies as the hidden layer does; a barrier that allows forward hands it on.

// LOCAL-LABEL: stretto.segment @mid.fwd
// LOCAL-NOT: stretto.constrain %
// LOCAL-NOT: stretto.shard_alike
// LOCAL-NOT: stretto.propagation_barrier
// LOCAL: stretto.all_gather {{.*}}ffn on {tp} -> ffn on {tp:(1)2}; for constrain
// LOCAL-LABEL: stretto.segment @mid.bwd
// LOCAL: ffn on {tp} -> ffn on {tp:(1)2}; for constrain

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<13x6xf32> dims [vocab, embed] init normal(0.5))) -> tensor<?x?x6xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<13x6xf32>, tensor<?x?xi32> -> tensor<?x?x6xf32>
  stretto.yield %0 : tensor<?x?x6xf32>
}

stretto.layer @head(%x: tensor<?x?x6xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq], %mask: tensor<?x?xf32> dims [batch, seq],
    params(%table: tensor<13x6xf32> dims [vocab, embed] init normal(0.5))) -> (tensor<f32>, tensor<f32>, tensor<?x?x13xf32>) {
  %1 = stretto.einsum "b s e, v e -> b s v" %x, %table : tensor<?x?x6xf32>, tensor<13x6xf32> -> tensor<?x?x13xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels : tensor<?x?x13xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x13xf32>
}

stretto.layer @mid(%x: tensor<?x?x6xf32> dims [batch, seq, embed],
    params(%w: tensor<6x12xf32> dims [embed, ffn] init normal(0.5), %w2: tensor<12x6xf32> dims [hidden, embed] init normal(0.5),
           %g: tensor<6x12xf32> dims [embed, gate] init normal(0.5))) -> tensor<?x?x6xf32> {
  %a = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<?x?x6xf32>, tensor<6x12xf32> -> tensor<?x?x12xf32>
  %b = stretto.tanh %a : tensor<?x?x12xf32> -> tensor<?x?x12xf32>
  %c = stretto.constrain %b <[{?}, {?}, {tp:(1)2}], "hidden: tp:(1)2 in the model"> : tensor<?x?x12xf32> -> tensor<?x?x12xf32>
  %h = stretto.einsum "b s e, e f -> b s f" %x, %g : tensor<?x?x6xf32>, tensor<6x12xf32> -> tensor<?x?x12xf32>
  %d:2 = stretto.shard_alike(%c, %h) : (tensor<?x?x12xf32>, tensor<?x?x12xf32>) -> (tensor<?x?x12xf32>, tensor<?x?x12xf32>)
  %e = stretto.mul %d#0, %d#1 : tensor<?x?x12xf32>, tensor<?x?x12xf32> -> tensor<?x?x12xf32>
  %f = stretto.propagation_barrier forward %e : tensor<?x?x12xf32> -> tensor<?x?x12xf32>
  %o = stretto.einsum "b s f, f e -> b s e" %f, %w2 : tensor<?x?x12xf32>, tensor<12x6xf32> -> tensor<?x?x6xf32>
  %p = stretto.constrain %o <[{?}, {?}, {}], replicated {tp}> : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  %q = stretto.add %x, %p : tensor<?x?x6xf32>, tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  stretto.yield %q : tensor<?x?x6xf32>
}

stretto.model @m(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x6xf32>
  %x = stretto.call @mid(%0) scope "mid" : (tensor<?x?x6xf32>) -> tensor<?x?x6xf32>
  %h:3 = stretto.call @head(%x, %labels, %mask) scope "head" : (tensor<?x?x6xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x13xf32>)
  stretto.loss %h#0, %h#1 weight 1.0 : tensor<f32>, tensor<f32>
  stretto.output "logits" %h#2 : tensor<?x?x13xf32>
}
