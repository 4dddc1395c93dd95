// stretto model llama --layers 2 --embed 8 --heads 2 --kv-heads 1 --vocab 7 --qk-norm

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<7x8xf32> dims [vocab, embed] init normal(2.000000e-02))) -> tensor<?x?x8xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<7x8xf32>, tensor<?x?xi32> -> tensor<?x?x8xf32>
  stretto.yield %0 : tensor<?x?x8xf32>
}

stretto.layer @decoder(%x: tensor<?x?x8xf32> dims [batch, seq, embed],
    %tokens: tensor<?x?xi32> dims [batch, seq],
    params(%attn_norm.scale: tensor<8xf32> dims [embed] init ones no_decay,
    %attn.wq: tensor<8x2x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.wk: tensor<8x1x4xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
    %attn.wv: tensor<8x1x4xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
    %attn.q_norm: tensor<4xf32> dims [head_dim] init ones no_decay,
    %attn.k_norm: tensor<4xf32> dims [head_dim] init ones no_decay,
    %attn.wo: tensor<2x4x8xf32> dims [heads, head_dim, embed] init normal(1.000000e-02),
    %mlp_norm.scale: tensor<8xf32> dims [embed] init ones no_decay,
    %mlp.wgate: tensor<8x64xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.wup: tensor<8x64xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.wdown: tensor<64x8xf32> dims [ffn, embed] init normal(1.000000e-02))) -> tensor<?x?x8xf32> {
  %0 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %1 = stretto.rms_norm %x, %attn_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %2 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wq : tensor<?x?x8xf32>, tensor<8x2x4xf32> -> tensor<?x?x2x4xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wk : tensor<?x?x8xf32>, tensor<8x1x4xf32> -> tensor<?x?x1x4xf32>
  %4 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wv : tensor<?x?x8xf32>, tensor<8x1x4xf32> -> tensor<?x?x1x4xf32>
  %5 = stretto.rms_norm %2, %attn.q_norm {eps = 1.000000e-05 : f64} : tensor<?x?x2x4xf32>, tensor<4xf32> -> tensor<?x?x2x4xf32>
  %6 = stretto.rope %5, %0 : tensor<?x?x2x4xf32>, tensor<?x?xi32> -> tensor<?x?x2x4xf32>
  %7 = stretto.rms_norm %3, %attn.k_norm {eps = 1.000000e-05 : f64} : tensor<?x?x1x4xf32>, tensor<4xf32> -> tensor<?x?x1x4xf32>
  %8 = stretto.rope %7, %0 : tensor<?x?x1x4xf32>, tensor<?x?xi32> -> tensor<?x?x1x4xf32>
  %out, %lse = stretto.attention %6, %8, %4 {causal, scale = 5.000000e-01 : f64} : tensor<?x?x2x4xf32>, tensor<?x?x1x4xf32>, tensor<?x?x1x4xf32> -> tensor<?x?x2x4xf32>, tensor<?x2x?xf32>
  %9 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x2x4xf32>, tensor<2x4x8xf32> -> tensor<?x?x8xf32>
  %10 = stretto.add %x, %9 : tensor<?x?x8xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  %11 = stretto.rms_norm %10, %mlp_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %12 = stretto.einsum "b s e, e f -> b s f" %11, %mlp.wgate : tensor<?x?x8xf32>, tensor<8x64xf32> -> tensor<?x?x64xf32>
  %13 = stretto.silu %12 : tensor<?x?x64xf32> -> tensor<?x?x64xf32>
  %14 = stretto.einsum "b s e, e f -> b s f" %11, %mlp.wup : tensor<?x?x8xf32>, tensor<8x64xf32> -> tensor<?x?x64xf32>
  %15 = stretto.mul %13, %14 : tensor<?x?x64xf32>, tensor<?x?x64xf32> -> tensor<?x?x64xf32>
  %16 = stretto.einsum "b s f, f e -> b s e" %15, %mlp.wdown : tensor<?x?x64xf32>, tensor<64x8xf32> -> tensor<?x?x8xf32>
  %17 = stretto.add %10, %16 : tensor<?x?x8xf32>, tensor<?x?x8xf32> -> tensor<?x?x8xf32>
  stretto.yield %17 : tensor<?x?x8xf32>
}

stretto.layer @head(%x: tensor<?x?x8xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<8xf32> dims [embed] init ones no_decay,
    %table: tensor<7x8xf32> dims [vocab, embed] init normal(2.000000e-02))) -> (tensor<f32>, tensor<f32>, tensor<?x?x7xf32>) {
  %0 = stretto.rms_norm %x, %norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x8xf32>, tensor<8xf32> -> tensor<?x?x8xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x8xf32>, tensor<7x8xf32> -> tensor<?x?x7xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels : tensor<?x?x7xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x7xf32>
}

stretto.model @llama(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x8xf32>
  %1 = stretto.call @decoder(%0, %tokens) scope "layers.0" : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?x8xf32>
  %2 = stretto.call @decoder(%1, %tokens) scope "layers.1" : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?x8xf32>
  %3:3 = stretto.call @head(%2, %labels, %mask) scope "head" : (tensor<?x?x8xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x7xf32>)
  stretto.loss %3#0, %3#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %3#2 : tensor<?x?x7xf32>
}
