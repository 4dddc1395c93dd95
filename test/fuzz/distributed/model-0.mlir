stretto.layer @embed(%ids: tensor<?x?xi32> dims [batch, seq],
                     params(%table: tensor<97x32xf32> dims [vocab, embed] init normal(0.02)))
    -> tensor<?x?x32xf32> {
  %x = stretto.embedding %table, %ids : tensor<97x32xf32>, tensor<?x?xi32> -> tensor<?x?x32xf32>
  stretto.yield %x : tensor<?x?x32xf32>
}

stretto.layer @decoder(%x: tensor<?x?x32xf32> dims [batch, seq, embed],
                       params(%g: tensor<32xf32> dims [embed] init ones no_decay,
                              %wq: tensor<32x4x8xf32> dims [embed, heads, head_dim] init normal(0.02)))
    -> tensor<?x?x32xf32> {
  %n = stretto.rms_norm %x, %g {eps = 1.0e-5 : f64} : tensor<?x?x32xf32>, tensor<32xf32> -> tensor<?x?x32xf32>
  %q = stretto.einsum "b s e, e h d -> b s h d" %n, %wq : tensor<?x?x32xf32>, tensor<32x4x8xf32> -> tensor<?x?x4x8xf32>
  %a, %lse = stretto.attention %q, %q, %q {causal, scale = 0.35 : f64} : tensor<?x?x4x8xf32>, tensor<?x?x4x8xf32>, tensor<?x?x4x8xf32> -> tensor<?x?x4x8xf32>, tensor<?x4x?xf32>
  %o = stretto.einsum "b s h d, e h d -> b s e" %a, %wq : tensor<?x?x4x8xf32>, tensor<32x4x8xf32> -> tensor<?x?x32xf32>
  %y = stretto.add %x, %o : tensor<?x?x32xf32>, tensor<?x?x32xf32> -> tensor<?x?x32xf32>
  stretto.yield %y : tensor<?x?x32xf32>
}

stretto.layer @head(%x: tensor<?x?x32xf32> dims [batch, seq, embed], %labels: tensor<?x?xi32> dims [batch, seq],
                    %mask: tensor<?x?xf32> dims [batch, seq],
                    params(%table: tensor<97x32xf32> dims [vocab, embed]))
    -> (tensor<f32>, tensor<f32>, tensor<?x?x97xf32>) {
  %l = stretto.einsum "b s e, v e -> b s v" %x, %table : tensor<?x?x32xf32>, tensor<97x32xf32> -> tensor<?x?x97xf32>
  %loss, %lse = stretto.cross_entropy %l, %labels {smoothing = 0.1 : f64} : tensor<?x?x97xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %w = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %s = stretto.reduce sum %w dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %s, %c, %l : tensor<f32>, tensor<f32>, tensor<?x?x97xf32>
}

stretto.model @gpt(%tokens: tensor<?x?xi32> dims [batch, seq],
                   %labels: tensor<?x?xi32> dims [batch, seq],
                   %mask: tensor<?x?xf32> dims [batch, seq]) {
  %h0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x32xf32>
  %h1 = stretto.call @decoder(%h0) scope "layers.0" : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %s, %c, %logits = stretto.call @head(%h1, %labels, %mask) scope "head" bind {table = "embed.table"}
    : (tensor<?x?x32xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x97xf32>)
  stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  stretto.output "logits" %logits : tensor<?x?x97xf32>
}
