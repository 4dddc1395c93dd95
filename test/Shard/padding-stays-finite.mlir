// RUN: rm -rf %t && mkdir %t
// RUN: printf 'recipe: 1\nbatch: { global: 3 }\nsequence: 4\n' > %t/recipe.yaml
// RUN: printf 'plan: 1\nmesh: { dp: 2, tp: 4 }\nshard: { match: "*", batch: dp, ffn: tp }\n' > %t/plan.yaml
// RUN: stretto check %s --executable no --recipe %t/recipe.yaml --plan %t/plan.yaml | FileCheck %s
// CHECK: equal: {{[0-9]+ of [0-9]+}} tensors within tolerance 1e-10
//
// Ten elements on four ranks: the padding of a quotient, a logarithm and a root
// stays finite, so that zero weights keep it out of the sums. A parameter that no
// loss sees has a gradient of zeros.

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
 params(%w: tensor<6x10xf32> dims [embed, ffn] init normal(0.5), %w2: tensor<10x6xf32> dims [ffn, embed] init normal(0.5), %g: tensor<10xf32> dims [ffn] init ones,
        %unused: tensor<10x3xf32> dims [ffn, rank] init ones)) -> tensor<?x?x6xf32> {
  %a = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<?x?x6xf32>, tensor<6x10xf32> -> tensor<?x?x10xf32>
  %e = stretto.exp %a : tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %m = stretto.reduce sum %e dims [2] : tensor<?x?x10xf32> -> tensor<?x?xf32>
  %b = stretto.einsum "b s, f -> b s f" %m, %g : tensor<?x?xf32>, tensor<10xf32> -> tensor<?x?x10xf32>
  %z = stretto.div %e, %b : tensor<?x?x10xf32>, tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %l = stretto.log %e : tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %r = stretto.sqrt %e : tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %s = stretto.rsqrt %b : tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %t = stretto.add %l, %r : tensor<?x?x10xf32>, tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %u = stretto.add %s, %t : tensor<?x?x10xf32>, tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %y = stretto.add %u, %z : tensor<?x?x10xf32>, tensor<?x?x10xf32> -> tensor<?x?x10xf32>
  %o = stretto.einsum "b s f, f e -> b s e" %y, %w2 : tensor<?x?x10xf32>, tensor<10x6xf32> -> tensor<?x?x6xf32>
  stretto.yield %o : tensor<?x?x6xf32>
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
