// Every token is looked up once, so row r of the table's gradient is what
// dropout kept of the position that holds token r, times a power of two: the
// gradient is the dropout mask, bit by bit.

module attributes {stretto.vocabulary = 128 : i64} {
stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%table: tensor<128x6xf32> dims [vocab, embed] init normal(1.0))) -> (tensor<f32>, tensor<f32>) {
  %0 = stretto.embedding %table, %tokens : tensor<128x6xf32>, tensor<?x?xi32> -> tensor<?x?x6xf32>
  %1 = stretto.dropout %0 {op_id = 1 : i64, p = 5.0e-01 : f64} : tensor<?x?x6xf32> -> tensor<?x?x6xf32>
  %2 = stretto.reduce sum %1 dims [0, 1, 2] : tensor<?x?x6xf32> -> tensor<f32>
  %3 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %2, %3 : tensor<f32>, tensor<f32>
}

stretto.model @masks(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0:2 = stretto.call @embed(%tokens, %mask) scope "embed" : (tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
  stretto.loss %0#0, %0#1 weight 1.0 : tensor<f32>, tensor<f32>
}
}
