// stretto model gpt --layers 2 --embed 16 --heads 4 --ffn 32 --vocab 20 --max-seq 16 --label-smoothing 0.1 --qk-norm --dropout 0.1

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<20x16xf32> dims [vocab, embed] init normal(2.000000e-02),
    %positions: tensor<16x16xf32> dims [position, embed] init normal(2.000000e-02))) -> tensor<?x?x16xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<20x16xf32>, tensor<?x?xi32> -> tensor<?x?x16xf32>
  %1 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %2 = stretto.embedding %positions, %1 : tensor<16x16xf32>, tensor<?x?xi32> -> tensor<?x?x16xf32>
  %3 = stretto.add %0, %2 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %4 = stretto.dropout %3 {op_id = 1 : i64, p = 1.000000e-01 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  stretto.yield %4 : tensor<?x?x16xf32>
}

stretto.layer @decoder(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
    params(%attn_norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %attn_norm.shift: tensor<16xf32> dims [embed] init zeros no_decay,
    %attn.wq: tensor<16x4x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.bq: tensor<4x4xf32> dims [heads, head_dim] init zeros no_decay,
    %attn.wk: tensor<16x4x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.bk: tensor<4x4xf32> dims [heads, head_dim] init zeros no_decay,
    %attn.wv: tensor<16x4x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.bv: tensor<4x4xf32> dims [heads, head_dim] init zeros no_decay,
    %attn.q_norm: tensor<4xf32> dims [head_dim] init ones no_decay,
    %attn.k_norm: tensor<4xf32> dims [head_dim] init ones no_decay,
    %attn.wo: tensor<4x4x16xf32> dims [heads, head_dim, embed] init normal(1.000000e-02),
    %attn.bo: tensor<16xf32> dims [embed] init zeros no_decay,
    %mlp_norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %mlp_norm.shift: tensor<16xf32> dims [embed] init zeros no_decay,
    %mlp.w1: tensor<16x32xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.b1: tensor<32xf32> dims [ffn] init zeros no_decay,
    %mlp.w2: tensor<32x16xf32> dims [ffn, embed] init normal(1.000000e-02),
    %mlp.b2: tensor<16xf32> dims [embed] init zeros no_decay)) -> tensor<?x?x16xf32> {
  %0 = stretto.layer_norm %x, %attn_norm.scale, %attn_norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %1 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wq : tensor<?x?x16xf32>, tensor<16x4x4xf32> -> tensor<?x?x4x4xf32>
  %2 = stretto.add %1, %attn.bq : tensor<?x?x4x4xf32>, tensor<4x4xf32> -> tensor<?x?x4x4xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wk : tensor<?x?x16xf32>, tensor<16x4x4xf32> -> tensor<?x?x4x4xf32>
  %4 = stretto.add %3, %attn.bk : tensor<?x?x4x4xf32>, tensor<4x4xf32> -> tensor<?x?x4x4xf32>
  %5 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wv : tensor<?x?x16xf32>, tensor<16x4x4xf32> -> tensor<?x?x4x4xf32>
  %6 = stretto.add %5, %attn.bv : tensor<?x?x4x4xf32>, tensor<4x4xf32> -> tensor<?x?x4x4xf32>
  %7 = stretto.rms_norm %2, %attn.q_norm {eps = 1.000000e-05 : f64} : tensor<?x?x4x4xf32>, tensor<4xf32> -> tensor<?x?x4x4xf32>
  %8 = stretto.rms_norm %4, %attn.k_norm {eps = 1.000000e-05 : f64} : tensor<?x?x4x4xf32>, tensor<4xf32> -> tensor<?x?x4x4xf32>
  %out, %lse = stretto.attention %7, %8, %6 {causal, op_id = 1 : i64, p = 1.000000e-01 : f64, scale = 5.000000e-01 : f64} : tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32>, tensor<?x?x4x4xf32> -> tensor<?x?x4x4xf32>, tensor<?x4x?xf32>
  %9 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x4x4xf32>, tensor<4x4x16xf32> -> tensor<?x?x16xf32>
  %10 = stretto.add %9, %attn.bo : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %11 = stretto.dropout %10 {op_id = 2 : i64, p = 1.000000e-01 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %12 = stretto.add %x, %11 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %13 = stretto.layer_norm %12, %mlp_norm.scale, %mlp_norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %14 = stretto.einsum "b s e, e f -> b s f" %13, %mlp.w1 : tensor<?x?x16xf32>, tensor<16x32xf32> -> tensor<?x?x32xf32>
  %15 = stretto.add %14, %mlp.b1 : tensor<?x?x32xf32>, tensor<32xf32> -> tensor<?x?x32xf32>
  %16 = stretto.gelu %15 {tanh} : tensor<?x?x32xf32> -> tensor<?x?x32xf32>
  %17 = stretto.einsum "b s f, f e -> b s e" %16, %mlp.w2 : tensor<?x?x32xf32>, tensor<32x16xf32> -> tensor<?x?x16xf32>
  %18 = stretto.add %17, %mlp.b2 : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %19 = stretto.dropout %18 {op_id = 3 : i64, p = 1.000000e-01 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %20 = stretto.add %12, %19 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  stretto.yield %20 : tensor<?x?x16xf32>
}

stretto.layer @head(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %norm.shift: tensor<16xf32> dims [embed] init zeros no_decay,
    %table: tensor<20x16xf32> dims [vocab, embed])) -> (tensor<f32>, tensor<f32>, tensor<?x?x20xf32>) {
  %0 = stretto.layer_norm %x, %norm.scale, %norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x16xf32>, tensor<20x16xf32> -> tensor<?x?x20xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels {smoothing = 1.000000e-01 : f64} : tensor<?x?x20xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x20xf32>
}

stretto.model @gpt(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %1 = stretto.call @decoder(%0) scope "layers.0" : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
  %2 = stretto.call @decoder(%1) scope "layers.1" : (tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
  %3:3 = stretto.call @head(%2, %labels, %mask) scope "head" bind {table = "embed.table"} : (tensor<?x?x16xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x20xf32>)
  stretto.loss %3#0, %3#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %3#2 : tensor<?x?x20xf32>
}
