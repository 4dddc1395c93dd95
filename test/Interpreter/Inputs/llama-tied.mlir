// stretto model llama --layers 2 --embed 16 --heads 4 --kv-heads 2 --ffn 30 --vocab 97 --tied --label-smoothing 0.1 --qk-norm --dropout 0.1

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<97x16xf32> dims [vocab, embed] init normal(2.000000e-02))) -> tensor<?x?x16xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<97x16xf32>, tensor<?x?xi32> -> tensor<?x?x16xf32>
  %1 = stretto.dropout %0 {op_id = 1 : i64, p = 1.000000e-01 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  stretto.yield %1 : tensor<?x?x16xf32>
}

stretto.layer @decoder(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
    %tokens: tensor<?x?xi32> dims [batch, seq],
    params(%attn_norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %attn.wq: tensor<16x4x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.wk: tensor<16x2x4xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
    %attn.wv: tensor<16x2x4xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
    %attn.q_norm: tensor<4xf32> dims [head_dim] init ones no_decay,
    %attn.k_norm: tensor<4xf32> dims [head_dim] init ones no_decay,
    %attn.wo: tensor<4x4x16xf32> dims [heads, head_dim, embed] init normal(1.000000e-02),
    %mlp_norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %mlp.wgate: tensor<16x30xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.wup: tensor<16x30xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.wdown: tensor<30x16xf32> dims [ffn, embed] init normal(1.000000e-02))) -> tensor<?x?x16xf32> {
  %0 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %1 = stretto.rms_norm %x, %attn_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %2 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wq : tensor<?x?x16xf32>, tensor<16x4x4xf32> -> tensor<?x?x4x4xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wk : tensor<?x?x16xf32>, tensor<16x2x4xf32> -> tensor<?x?x2x4xf32>
  %4 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wv : tensor<?x?x16xf32>, tensor<16x2x4xf32> -> tensor<?x?x2x4xf32>
  %5 = stretto.rms_norm %2, %attn.q_norm {eps = 1.000000e-05 : f64} : tensor<?x?x4x4xf32>, tensor<4xf32> -> tensor<?x?x4x4xf32>
  %6 = stretto.rope %5, %0 : tensor<?x?x4x4xf32>, tensor<?x?xi32> -> tensor<?x?x4x4xf32>
  %7 = stretto.rms_norm %3, %attn.k_norm {eps = 1.000000e-05 : f64} : tensor<?x?x2x4xf32>, tensor<4xf32> -> tensor<?x?x2x4xf32>
  %8 = stretto.rope %7, %0 : tensor<?x?x2x4xf32>, tensor<?x?xi32> -> tensor<?x?x2x4xf32>
  %out, %lse = stretto.attention %6, %8, %4 {causal, op_id = 1 : i64, p = 1.000000e-01 : f64, scale = 5.000000e-01 : f64} : tensor<?x?x4x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32> -> tensor<?x?x4x4xf32>, tensor<?x4x?xf32>
  %9 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x4x4xf32>, tensor<4x4x16xf32> -> tensor<?x?x16xf32>
  %10 = stretto.dropout %9 {op_id = 2 : i64, p = 1.000000e-01 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %11 = stretto.add %x, %10 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %12 = stretto.rms_norm %11, %mlp_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %13 = stretto.einsum "b s e, e f -> b s f" %12, %mlp.wgate : tensor<?x?x16xf32>, tensor<16x30xf32> -> tensor<?x?x30xf32>
  %14 = stretto.silu %13 : tensor<?x?x30xf32> -> tensor<?x?x30xf32>
  %15 = stretto.einsum "b s e, e f -> b s f" %12, %mlp.wup : tensor<?x?x16xf32>, tensor<16x30xf32> -> tensor<?x?x30xf32>
  %16 = stretto.mul %14, %15 : tensor<?x?x30xf32>, tensor<?x?x30xf32> -> tensor<?x?x30xf32>
  %17 = stretto.einsum "b s f, f e -> b s e" %16, %mlp.wdown : tensor<?x?x30xf32>, tensor<30x16xf32> -> tensor<?x?x16xf32>
  %18 = stretto.dropout %17 {op_id = 3 : i64, p = 1.000000e-01 : f64} : tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %19 = stretto.add %11, %18 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  stretto.yield %19 : tensor<?x?x16xf32>
}

stretto.layer @head(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %table: tensor<97x16xf32> dims [vocab, embed])) -> (tensor<f32>, tensor<f32>, tensor<?x?x97xf32>) {
  %0 = stretto.rms_norm %x, %norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x16xf32>, tensor<97x16xf32> -> tensor<?x?x97xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels {smoothing = 1.000000e-01 : f64} : tensor<?x?x97xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x97xf32>
}

stretto.model @llama(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %1 = stretto.call @decoder(%0, %tokens) scope "layers.0" : (tensor<?x?x16xf32>, tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %2 = stretto.call @decoder(%1, %tokens) scope "layers.1" : (tensor<?x?x16xf32>, tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %3:3 = stretto.call @head(%2, %labels, %mask) scope "head" bind {table = "embed.table"} : (tensor<?x?x16xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x97xf32>)
  stretto.loss %3#0, %3#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %3#2 : tensor<?x?x97xf32>
}
