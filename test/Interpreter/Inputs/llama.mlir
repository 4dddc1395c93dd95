// stretto model llama --layers 2 --embed 16 --heads 4 --kv-heads 2 --ffn 32 --vocab 20

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<20x16xf32> dims [vocab, embed] init normal(2.000000e-02))) -> tensor<?x?x16xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<20x16xf32>, tensor<?x?xi32> -> tensor<?x?x16xf32>
  stretto.yield %0 : tensor<?x?x16xf32>
}

stretto.layer @decoder(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
    %tokens: tensor<?x?xi32> dims [batch, seq],
    params(%attn_norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %attn.wq: tensor<16x4x4xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
    %attn.wk: tensor<16x2x4xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
    %attn.wv: tensor<16x2x4xf32> dims [embed, kv_heads, head_dim] init normal(2.000000e-02),
    %attn.wo: tensor<4x4x16xf32> dims [heads, head_dim, embed] init normal(1.000000e-02),
    %mlp_norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %mlp.wgate: tensor<16x32xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.wup: tensor<16x32xf32> dims [embed, ffn] init normal(2.000000e-02),
    %mlp.wdown: tensor<32x16xf32> dims [ffn, embed] init normal(1.000000e-02))) -> tensor<?x?x16xf32> {
  %0 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %1 = stretto.rms_norm %x, %attn_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %2 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wq : tensor<?x?x16xf32>, tensor<16x4x4xf32> -> tensor<?x?x4x4xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wk : tensor<?x?x16xf32>, tensor<16x2x4xf32> -> tensor<?x?x2x4xf32>
  %4 = stretto.einsum "b s e, e h d -> b s h d" %1, %attn.wv : tensor<?x?x16xf32>, tensor<16x2x4xf32> -> tensor<?x?x2x4xf32>
  %5 = stretto.rope %2, %0 : tensor<?x?x4x4xf32>, tensor<?x?xi32> -> tensor<?x?x4x4xf32>
  %6 = stretto.rope %3, %0 : tensor<?x?x2x4xf32>, tensor<?x?xi32> -> tensor<?x?x2x4xf32>
  %out, %lse = stretto.attention %5, %6, %4 {causal, scale = 5.000000e-01 : f64} : tensor<?x?x4x4xf32>, tensor<?x?x2x4xf32>, tensor<?x?x2x4xf32> -> tensor<?x?x4x4xf32>, tensor<?x4x?xf32>
  %7 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x4x4xf32>, tensor<4x4x16xf32> -> tensor<?x?x16xf32>
  %8 = stretto.add %x, %7 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  %9 = stretto.rms_norm %8, %mlp_norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %10 = stretto.einsum "b s e, e f -> b s f" %9, %mlp.wgate : tensor<?x?x16xf32>, tensor<16x32xf32> -> tensor<?x?x32xf32>
  %11 = stretto.silu %10 : tensor<?x?x32xf32> -> tensor<?x?x32xf32>
  %12 = stretto.einsum "b s e, e f -> b s f" %9, %mlp.wup : tensor<?x?x16xf32>, tensor<16x32xf32> -> tensor<?x?x32xf32>
  %13 = stretto.mul %11, %12 : tensor<?x?x32xf32>, tensor<?x?x32xf32> -> tensor<?x?x32xf32>
  %14 = stretto.einsum "b s f, f e -> b s e" %13, %mlp.wdown : tensor<?x?x32xf32>, tensor<32x16xf32> -> tensor<?x?x16xf32>
  %15 = stretto.add %8, %14 : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
  stretto.yield %15 : tensor<?x?x16xf32>
}

stretto.layer @head(%x: tensor<?x?x16xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<16xf32> dims [embed] init ones no_decay,
    %table: tensor<20x16xf32> dims [vocab, embed] init normal(2.000000e-02))) -> (tensor<f32>, tensor<f32>, tensor<?x?x20xf32>) {
  %0 = stretto.rms_norm %x, %norm.scale {eps = 1.000000e-05 : f64} : tensor<?x?x16xf32>, tensor<16xf32> -> tensor<?x?x16xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x16xf32>, tensor<20x16xf32> -> tensor<?x?x20xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels : tensor<?x?x20xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x20xf32>
}

stretto.model @llama(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %1 = stretto.call @decoder(%0, %tokens) scope "layers.0" : (tensor<?x?x16xf32>, tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %2 = stretto.call @decoder(%1, %tokens) scope "layers.1" : (tensor<?x?x16xf32>, tensor<?x?xi32>) -> tensor<?x?x16xf32>
  %3:3 = stretto.call @head(%2, %labels, %mask) scope "head" : (tensor<?x?x16xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x20xf32>)
  stretto.loss %3#0, %3#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %3#2 : tensor<?x?x20xf32>
}
