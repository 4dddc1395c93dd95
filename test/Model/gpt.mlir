// A GPT has the contract's inputs, learned positions, biases and a tied head.
// RUN: stretto model gpt --layers 2 --embed 64 --heads 4 --vocab=97 --max-seq 32 --dropout 0.1 --label-smoothing 0.1 -o %t.mlir
// RUN: stretto-opt %t.mlir | stretto-opt | FileCheck %s

// CHECK-LABEL: stretto.layer @embed(
// CHECK: %table: tensor<97x64xf32> dims [vocab, embed] init normal(2.000000e-02)
// CHECK: %positions: tensor<32x64xf32> dims [position, embed] init normal(2.000000e-02)
// CHECK: stretto.iota {{.*}} {dim = 1 : i64}
// CHECK: stretto.dropout {{.*}} {op_id = 1 : i64, p = 1.000000e-01 : f64}

// CHECK-LABEL: stretto.layer @decoder(
// CHECK: %attn_norm.scale: tensor<64xf32> dims [embed] init ones no_decay
// CHECK: %attn.wq: tensor<64x4x16xf32> dims [embed, heads, head_dim] init normal(2.000000e-02)
// CHECK: %attn.bq: tensor<4x16xf32> dims [heads, head_dim] init zeros no_decay
// CHECK: %attn.wo: tensor<4x16x64xf32> dims [heads, head_dim, embed] init normal(1.000000e-02)
// CHECK: %mlp.w1: tensor<64x256xf32> dims [embed, ffn]
// CHECK: stretto.layer_norm
// CHECK: stretto.attention {{.*}} {causal, op_id = 1 : i64, p = 1.000000e-01 : f64, scale = 2.500000e-01 : f64}
// CHECK: stretto.gelu {{.*}} {tanh}

// CHECK-LABEL: stretto.layer @head(
// CHECK: stretto.cross_entropy {{.*}} {smoothing = 1.000000e-01 : f64}

// CHECK-LABEL: stretto.model @gpt(
// CHECK-SAME: %tokens: tensor<?x?xi32> dims [batch, seq],
// CHECK-NEXT: %labels: tensor<?x?xi32> dims [batch, seq],
// CHECK-NEXT: %mask: tensor<?x?xf32> dims [batch, seq])
// CHECK: scope "layers.0"
// CHECK: scope "layers.1"
// CHECK: stretto.call @head({{.*}}) scope "head" bind {table = "embed.table"}
// CHECK: stretto.loss {{.*}} weight 1.000000e+00
// CHECK: stretto.output "logits"
