// stretto model llama --layers 4 --embed 256 --heads 8 --kv-heads 4 --vocab 256

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq], params(%table: tensor<256x256xf32> dims [vocab, embed] init normal(2.000000e-02))) -> tensor<?x?x256xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<256x256xf32>, tensor<?x?xi32> -> tensor<?x?x256xf32>
  stretto.yield %0 : tensor<?x?x256xf32>
}

stretto.layer @decoder(%x: tensor<?x?x256xf32> dims [batch, seq, embed],
    %tokens: tensor<?x?xi32> dims [batch, seq],
    params(%attn_norm.scale: tensor<256xf32> dims [embed] init ones no_decay,
           %attn.wq: tensor<256x8x32xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
           %attn.wk: tensor<256x4x32xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
           %attn.wv: tensor<256x4x32xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
           %attn.wo: tensor<8x32x256xf32> dims [heads, head_dim, embed] init normal(0.0070710678118654745),
           %mlp_norm.scale: tensor<256xf32> dims [embed] init ones no_decay,
           %mlp.wgate: tensor<256x704xf32> dims [embed, ffn] init normal(2.000000e-02),
           %mlp.wup: tensor<256x704xf32> dims [embed, ffn] init normal(2.000000e-02),
           %mlp.wdown: tensor<704x256xf32> dims [ffn, embed] init normal(0.0070710678118654745))) -> tensor<?x?x256xf32> {
  %0 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %1 = stretto.rms_norm %x, %attn_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %2 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wq : tensor<?x?x256xf32>, tensor<256x8x32xf32> -> tensor<?x?x8x32xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wk : tensor<?x?x256xf32>, tensor<256x4x32xf32> -> tensor<?x?x4x32xf32>
  %4 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wv : tensor<?x?x256xf32>, tensor<256x4x32xf32> -> tensor<?x?x4x32xf32>
  %5 = stretto.rope %2, %0 : tensor<?x?x8x32xf32>, tensor<?x?xi32> -> tensor<?x?x8x32xf32>
  %6 = stretto.rope %3, %0 : tensor<?x?x4x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x32xf32>
  %out, %lse = stretto.attention %5, %6, %4 {causal, scale = 0.17677669529663687 : f64} : tensor<?x?x8x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x8x32xf32>, tensor<?x8x?xf32>
  %7 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x8x32xf32>, tensor<8x32x256xf32> -> tensor<?x?x256xf32>
  %8 = stretto.add %x, %7 : tensor<?x?x256xf32>, tensor<?x?x256xf32> -> tensor<?x?x256xf32>
  %9 = stretto.rms_norm %8, %mlp_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %10 = stretto.einsum "b s e, e f -> b s f" %9, %mlp.wgate : tensor<?x?x256xf32>, tensor<256x704xf32> -> tensor<?x?x704xf32>
  %11 = stretto.silu %10 : tensor<?x?x704xf32> -> tensor<?x?x704xf32>
  %12 = stretto.einsum "b s e, e f -> b s f" %9, %mlp.wup : tensor<?x?x256xf32>, tensor<256x704xf32> -> tensor<?x?x704xf32>
  %13 = stretto.mul %11, %12 : tensor<?x?x704xf32>, tensor<?x?x704xf32> -> tensor<?x?x704xf32>
  %14 = stretto.einsum "b s f, f e -> b s e" %13, %mlp.wdown : tensor<?x?x704xf32>, tensor<704x256xf32> -> tensor<?x?x256xf32>
  %15 = stretto.add %8, %14 : tensor<?x?x256xf32>, tensor<?x?x256xf32> -> tensor<?x?x256xf32>
  stretto.yield %15 : tensor<?x?x256xf32>
}

stretto.layer @head(%x: tensor<?x?x256xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<256xf32> dims [embed] init ones no_decay,
           %table: tensor<256x256xf32> dims [vocab, embed] init normal(2.000000e-02))) -> (tensor<f32>, tensor<f32>, tensor<?x?x256xf32>) {
  %0 = stretto.rms_norm %x, %norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x256xf32>, tensor<256x256xf32> -> tensor<?x?x256xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels : tensor<?x?x256xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x256xf32>
}

stretto.model @llama(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x256xf32>
  %1 = stretto.call @decoder(%0, %tokens) scope "layers.0" : (tensor<?x?x256xf32>, tensor<?x?xi32>) -> tensor<?x?x256xf32>
  %2 = stretto.call @decoder(%1, %tokens) scope "layers.1" : (tensor<?x?x256xf32>, tensor<?x?xi32>) -> tensor<?x?x256xf32>
  %3 = stretto.call @decoder(%2, %tokens) scope "layers.2" : (tensor<?x?x256xf32>, tensor<?x?xi32>) -> tensor<?x?x256xf32>
  %4 = stretto.call @decoder(%3, %tokens) scope "layers.3" : (tensor<?x?x256xf32>, tensor<?x?xi32>) -> tensor<?x?x256xf32>
  %5:3 = stretto.call @head(%4, %labels, %mask) scope "head" : (tensor<?x?x256xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x256xf32>)
  stretto.loss %5#0, %5#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %5#2 : tensor<?x?x256xf32>
}
