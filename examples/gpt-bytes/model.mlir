// stretto model gpt --layers 4 --embed 256 --heads 8 --vocab 256 --max-seq 256

stretto.layer @embed(%tokens: tensor<?x?xi32> dims [batch, seq],
    params(%table: tensor<256x256xf32> dims [vocab, embed] init normal(2.000000e-02),
           %positions: tensor<256x256xf32> dims [position, embed] init normal(2.000000e-02))) -> tensor<?x?x256xf32> {
  %0 = stretto.embedding %table, %tokens : tensor<256x256xf32>, tensor<?x?xi32> -> tensor<?x?x256xf32>
  %1 = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
  %2 = stretto.embedding %positions, %1 : tensor<256x256xf32>, tensor<?x?xi32> -> tensor<?x?x256xf32>
  %3 = stretto.add %0, %2 : tensor<?x?x256xf32>, tensor<?x?x256xf32> -> tensor<?x?x256xf32>
  stretto.yield %3 : tensor<?x?x256xf32>
}

stretto.layer @decoder(%x: tensor<?x?x256xf32> dims [batch, seq, embed],
    params(%attn_norm.scale: tensor<256xf32> dims [embed] init ones no_decay,
           %attn_norm.shift: tensor<256xf32> dims [embed] init zeros no_decay,
           %attn.wq: tensor<256x8x32xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
           %attn.bq: tensor<8x32xf32> dims [heads, head_dim] init zeros no_decay,
           %attn.wk: tensor<256x8x32xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
           %attn.bk: tensor<8x32xf32> dims [heads, head_dim] init zeros no_decay,
           %attn.wv: tensor<256x8x32xf32> dims [embed, heads, head_dim] init normal(2.000000e-02),
           %attn.bv: tensor<8x32xf32> dims [heads, head_dim] init zeros no_decay,
           %attn.wo: tensor<8x32x256xf32> dims [heads, head_dim, embed] init normal(0.0070710678118654745),
           %attn.bo: tensor<256xf32> dims [embed] init zeros no_decay,
           %mlp_norm.scale: tensor<256xf32> dims [embed] init ones no_decay,
           %mlp_norm.shift: tensor<256xf32> dims [embed] init zeros no_decay,
           %mlp.w1: tensor<256x1024xf32> dims [embed, ffn] init normal(2.000000e-02),
           %mlp.b1: tensor<1024xf32> dims [ffn] init zeros no_decay,
           %mlp.w2: tensor<1024x256xf32> dims [ffn, embed] init normal(0.0070710678118654745),
           %mlp.b2: tensor<256xf32> dims [embed] init zeros no_decay)) -> tensor<?x?x256xf32> {
  %0 = stretto.layer_norm %x, %attn_norm.scale, %attn_norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x256xf32>, tensor<256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %1 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wq : tensor<?x?x256xf32>, tensor<256x8x32xf32> -> tensor<?x?x8x32xf32>
  %2 = stretto.add %1, %attn.bq : tensor<?x?x8x32xf32>, tensor<8x32xf32> -> tensor<?x?x8x32xf32>
  %3 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wk : tensor<?x?x256xf32>, tensor<256x8x32xf32> -> tensor<?x?x8x32xf32>
  %4 = stretto.add %3, %attn.bk : tensor<?x?x8x32xf32>, tensor<8x32xf32> -> tensor<?x?x8x32xf32>
  %5 = stretto.einsum "b s e, e h d -> b s h d" %0, %attn.wv : tensor<?x?x256xf32>, tensor<256x8x32xf32> -> tensor<?x?x8x32xf32>
  %6 = stretto.add %5, %attn.bv : tensor<?x?x8x32xf32>, tensor<8x32xf32> -> tensor<?x?x8x32xf32>
  %out, %lse = stretto.attention %2, %4, %6 {causal, scale = 0.17677669529663687 : f64} : tensor<?x?x8x32xf32>, tensor<?x?x8x32xf32>, tensor<?x?x8x32xf32> -> tensor<?x?x8x32xf32>, tensor<?x8x?xf32>
  %7 = stretto.einsum "b s h d, h d e -> b s e" %out, %attn.wo : tensor<?x?x8x32xf32>, tensor<8x32x256xf32> -> tensor<?x?x256xf32>
  %8 = stretto.add %7, %attn.bo : tensor<?x?x256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %9 = stretto.add %x, %8 : tensor<?x?x256xf32>, tensor<?x?x256xf32> -> tensor<?x?x256xf32>
  %10 = stretto.layer_norm %9, %mlp_norm.scale, %mlp_norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x256xf32>, tensor<256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %11 = stretto.einsum "b s e, e f -> b s f" %10, %mlp.w1 : tensor<?x?x256xf32>, tensor<256x1024xf32> -> tensor<?x?x1024xf32>
  %12 = stretto.add %11, %mlp.b1 : tensor<?x?x1024xf32>, tensor<1024xf32> -> tensor<?x?x1024xf32>
  %13 = stretto.gelu %12 {tanh} : tensor<?x?x1024xf32> -> tensor<?x?x1024xf32>
  %14 = stretto.einsum "b s f, f e -> b s e" %13, %mlp.w2 : tensor<?x?x1024xf32>, tensor<1024x256xf32> -> tensor<?x?x256xf32>
  %15 = stretto.add %14, %mlp.b2 : tensor<?x?x256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %16 = stretto.add %9, %15 : tensor<?x?x256xf32>, tensor<?x?x256xf32> -> tensor<?x?x256xf32>
  stretto.yield %16 : tensor<?x?x256xf32>
}

stretto.layer @head(%x: tensor<?x?x256xf32> dims [batch, seq, embed],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq],
    params(%norm.scale: tensor<256xf32> dims [embed] init ones no_decay,
           %norm.shift: tensor<256xf32> dims [embed] init zeros no_decay,
           %table: tensor<256x256xf32> dims [vocab, embed])) -> (tensor<f32>, tensor<f32>, tensor<?x?x256xf32>) {
  %0 = stretto.layer_norm %x, %norm.scale, %norm.shift {eps = 1.000000e-05 : f64} : tensor<?x?x256xf32>, tensor<256xf32>, tensor<256xf32> -> tensor<?x?x256xf32>
  %1 = stretto.einsum "b s e, v e -> b s v" %0, %table : tensor<?x?x256xf32>, tensor<256x256xf32> -> tensor<?x?x256xf32>
  %loss, %lse = stretto.cross_entropy %1, %labels : tensor<?x?x256xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
  %2 = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
  %3 = stretto.reduce sum %2 dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  %4 = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  stretto.yield %3, %4, %1 : tensor<f32>, tensor<f32>, tensor<?x?x256xf32>
}

stretto.model @gpt(%tokens: tensor<?x?xi32> dims [batch, seq],
    %labels: tensor<?x?xi32> dims [batch, seq],
    %mask: tensor<?x?xf32> dims [batch, seq]) {
  %0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x256xf32>
  %1 = stretto.call @decoder(%0) scope "layers.0" : (tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
  %2 = stretto.call @decoder(%1) scope "layers.1" : (tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
  %3 = stretto.call @decoder(%2) scope "layers.2" : (tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
  %4 = stretto.call @decoder(%3) scope "layers.3" : (tensor<?x?x256xf32>) -> tensor<?x?x256xf32>
  %5:3 = stretto.call @head(%4, %labels, %mask) scope "head" bind {table = "embed.table"} : (tensor<?x?x256xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x256xf32>)
  stretto.loss %5#0, %5#1 weight 1.000000e+00 : tensor<f32>, tensor<f32>
  stretto.output "logits" %5#2 : tensor<?x?x256xf32>
}
