// Blocks that read the residual stream without a norm: what is gathered is the layer's argument.
module {
  stretto.layer @embed(%ids: tensor<?x?xi32> dims [batch, seq],
                       params(%table: tensor<32x16xf32> dims [vocab, embed] init normal(0.2)))
      -> tensor<?x?x16xf32> {
    %x = stretto.embedding %table, %ids : tensor<32x16xf32>, tensor<?x?xi32> -> tensor<?x?x16xf32>
    stretto.yield %x : tensor<?x?x16xf32>
  }
  stretto.layer @block(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
                       params(%w1: tensor<16x32xf32> dims [embed, ffn] init normal(0.2),
                              %w2: tensor<32x16xf32> dims [ffn, embed] init normal(0.2)))
      -> tensor<?x?x16xf32> {
    %h = stretto.einsum "b s e, e f -> b s f" %x, %w1 : tensor<?x?x16xf32>, tensor<16x32xf32> -> tensor<?x?x32xf32>
    %a = stretto.silu %h : tensor<?x?x32xf32> -> tensor<?x?x32xf32>
    %o = stretto.einsum "b s f, f e -> b s e" %a, %w2 : tensor<?x?x32xf32>, tensor<32x16xf32> -> tensor<?x?x16xf32>
    %y = stretto.add %x, %o : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
    stretto.yield %y : tensor<?x?x16xf32>
  }
  stretto.layer @head(%x: tensor<?x?x16xf32> dims [batch, seq, embed], %labels: tensor<?x?xi32> dims [batch, seq],
                      %mask: tensor<?x?xf32> dims [batch, seq],
                      params(%table: tensor<32x16xf32> dims [vocab, embed] init normal(0.2)))
      -> (tensor<f32>, tensor<f32>) {
    %l = stretto.einsum "b s e, v e -> b s v" %x, %table : tensor<?x?x16xf32>, tensor<32x16xf32> -> tensor<?x?x32xf32>
    %loss, %lse = stretto.cross_entropy %l, %labels : tensor<?x?x32xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
    %w = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %s = stretto.reduce sum %w dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @mlp(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                     %mask: tensor<?x?xf32> dims [batch, seq]) {
    %h0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x16xf32>
    %h1 = stretto.call @block(%h0) scope "layers.0" : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
    %h2 = stretto.call @block(%h1) scope "layers.1" : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
    %s, %c = stretto.call @head(%h2, %labels, %mask) scope "head" : (tensor<?x?x16xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}
