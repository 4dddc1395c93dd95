// stretto model gpt --layers 1 --embed 8 --heads 2 --vocab 7 --max-seq 5 --dropout 0.1

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<7x8xf32> dims [vocab, embed] init normal(2.000000e-02),
    %positions: tensor<5x8xf32> dims [position, embed] init normal(2.000000e-02))) -> tensor<?x?x8xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<7x8xf32>, tensor<?x?xi32> -> tensor<?x?x8xf32>
  %1 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %2 = stretto.embedding %positions, %1 : tensor<5x8xf32>, tensor<?x?xi32> -> tensor<?x?x8xf32>
  %3 = stretto.add %0, %2 : tensor<?x?x8xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  %4 = stretto.dropout %3 {op_id = 1 : i64, p = 1.000000e-01 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  stretto.yield %4 : tensor<?x?x8xf32>
}

stretto.layer @decoder(%x: tensor<?x?x8xf32> dims [batch, seq, embed],
    params(%attn_norm.scale: tensor<8xf32> dims [embed] init ones no_decay,
    %attn_norm.shift: tensor<8xf32> dims [embed] init zeros no_decay,
    %attn.wq: tensor<8x2x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.bq: tensor<2x4xf32> dims [heads, head_dim] init zeros no_decay,
    %attn.wk: tensor<8x2x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.bk: tensor<2x4xf32> dims [heads, head_dim] init zeros no_decay,
    %attn.wv: tensor<8x2x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.bv: tensor<2x4xf32> dims [heads, head_dim] init zeros no_decay,
    %attn.wo: tensor<2x4x8xf32> dims [heads, head_dim, embed] init normal(0.014142135623730949),
    %attn.bo: tensor<8xf32> dims [embed] init zeros no_decay,
    %mlp_norm.scale: tensor<8xf32> dims [embed] init ones no_decay,
    %mlp_norm.shift: tensor<8xf32> dims [embed] init zeros no_decay,
    %mlp.w1: tensor<8x32xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.b1: tensor<32xf32> dims [ffn] init zeros no_decay,
    %mlp.w2: tensor<32x8xf32> dims [ffn, embed] init normal(0.014142135623730949),
    %mlp.b2: tensor<8xf32> dims [embed] init zeros no_decay)) -> tensor<?x?x8xf32> {
  %0 = stretto.layer_norm %x, %attn_norm.scale, %attn_norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %1 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wq : tensor<?x?x8xf32>, tensor<8x2x4xf32> -> tensor<?x?x2x4xf32>
  %2 = stretto.add %1, %attn.bq : tensor<?x?x2x4xf32>, tensor<2x4xf32> -> tensor<?x?x2x4xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wk : tensor<?x?x8xf32>, tensor<8x2x4xf32> -> tensor<?x?x2x4xf32>
  %4 = stretto.add %3, %attn.bk : tensor<?x?x2x4xf32>, tensor<2x4xf32> -> tensor<?x?x2x4xf32>
  %5 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wv : tensor<?x?x8xf32>, tensor<8x2x4xf32> -> tensor<?x?x2x4xf32>
  %6 = stretto.add %5, %attn.bv : tensor<?x?x2x4xf32>, tensor<2x4xf32> -> tensor<?x?x2x4xf32>
  %out, %lse = stretto.attention %2, %4, %6 {causal, op_id = 1 : i64, p = 1.000000e-01 : f64, scale = 5.000000e-01 : f64} : tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32> -> tensor<?x?x2x4xf32>, tensor<?x2x?xf32>
  %7 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x2x4xf32>, tensor<2x4x8xf32> -> tensor<?x?x8xf32>
  %8 = stretto.add %7, %attn.bo : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %9 = stretto.dropout %8 {op_id = 2 : i64, p = 1.000000e-01 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  %10 = stretto.add %x, %9 : tensor<?x?x8xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  %11 = stretto.layer_norm %10, %mlp_norm.scale, %mlp_norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %12 = stretto.einsum "b s e, e f -> b s f" %11, %mlp.w1 : tensor<?x?x8xf32>, tensor<8x32xf32> -> tensor<?x?x32xf32>
  %13 = stretto.add %12, %mlp.b1 : tensor<?x?x32xf32>, tensor<32xf32> -> tensor<?x?x32xf32>
  %14 = stretto.gelu %13 {tanh} : tensor<?x?x32xf32> -> tensor<?x?x32xf32>
  %15 = stretto.einsum "b s f, f e -> b s e" %14, %mlp.w2 : tensor<?x?x32xf32>, tensor<32x8xf32> -> tensor<?x?x8xf32>
  %16 = stretto.add %15, %mlp.b2 : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %17 = stretto.dropout %16 {op_id = 3 : i64, p = 1.000000e-01 : f64} : tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  %18 = stretto.add %10, %17 : tensor<?x?x8xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  stretto.yield %18 : tensor<?x?x8xf32>
}

stretto.layer @head(%x: tensor<?x?x8xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<8xf32> dims [embed] init ones no_decay,
    %norm.shift: tensor<8xf32> dims [embed] init zeros no_decay,
    %table: tensor<7x8xf32> dims [vocab, embed])) -> (tensor<f32>, tensor<f32>, tensor<?x?x7xf32>) {
  %0 = stretto.layer_norm %x, %norm.scale, %norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x8xf32>, tensor<7x8xf32> -> tensor<?x?x7xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels : tensor<?x?x7xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x7xf32>
}

stretto.model @gpt(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x8xf32>
  %1 = stretto.call @decoder(%0) scope "layers.0" : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %2:3 = stretto.call @head(%1, %labels, %mask) scope "head" bind {table = "embed.table"} : (tensor<?x?x8xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x7xf32>)
  stretto.loss %2#0, %2#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %2#2 : tensor<?x?x7xf32>
}
