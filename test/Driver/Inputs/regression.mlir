// Predicts the next byte as a number: an embedding, but no classes.
stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
                     params(%table: tensor<256x16xf32> dims [vocab, embed] init normal(0.02))) -> tensor<?x?x16xf32> {
  %h = stretto.embedding %table, %tokens : tensor<256x16xf32>, tensor<?x?xi32> -> tensor<?x?x16xf32>
  stretto.yield %h : tensor<?x?x16xf32>
}
stretto.layer @head(%h: tensor<?x?x16xf32> dims [batch, seq, embed], %labels: tensor<?x?xi32> dims [batch, seq],
                    %mask: tensor<?x?xf32> dims [batch, seq],
                    params(%w: tensor<16xf32> dims [embed] init normal(0.02))) -> (tensor<f32>, tensor<f32>) {
  %y = stretto.einsum "b s e, e -> b s" %h, %w : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?xf32>
  %l = stretto.convert %labels : tensor<?x?xi32> -> tensor<?x?xf32>
  %k = stretto.constant 0.01 : tensor<f32>
  %t = stretto.mul %l, %k : tensor<?x?xf32>, tensor<f32> -> tensor<?x?xf32>
  %d = stretto.sub %y, %t : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %q = stretto.mul %d, %d : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %m = stretto.mul %q, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %s = stretto.reduce sum %m dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %s, %c : tensor<f32>, tensor<f32>
}
stretto.model @regress(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                       %mask: tensor<?x?xf32> dims [batch, seq]) {
  %h = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %s, %c = stretto.call @head(%h, %labels, %mask) scope "head" : (tensor<?x?x16xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
  stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
}
