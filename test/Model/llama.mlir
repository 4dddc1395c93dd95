// A Llama has rotary positions, grouped queries, SwiGLU, no biases, its own head.
// RUN: stretto model llama --layers 1 --embed 64 --heads 4 --kv-heads 2 --qk-norm -o %t.mlir
// RUN: stretto-opt %t.mlir | stretto-opt | FileCheck %s
// RUN: FileCheck %s --check-prefix=NONE < %t.mlir

// NONE-NOT: init zeros
// NONE-NOT: bind

// CHECK-LABEL: stretto.layer @decoder(
// CHECK-SAME: %x: {{.*}} dims [batch, seq, embed],
// CHECK-NEXT: %tokens: tensor<?x?xi32> dims [batch, seq],
// CHECK-NEXT: params(
// CHECK: %attn.wk: tensor<64x2x16xf32> dims [embed, kv_heads, head_dim]
// CHECK: %attn.q_norm: tensor<16xf32> dims [head_dim] init ones no_decay
// CHECK: %mlp.wgate: tensor<64x192xf32> dims [embed, ffn]
// CHECK: stretto.iota {{.*}} {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
// CHECK: stretto.rms_norm
// CHECK: %[[Q:.*]] = stretto.rms_norm {{.*}}, %attn.q_norm
// CHECK: stretto.rope %[[Q]]
// CHECK: %[[K:.*]] = stretto.rms_norm {{.*}}, %attn.k_norm
// CHECK: stretto.rope %[[K]]
// CHECK: stretto.attention
// CHECK: %[[GATE:.*]] = stretto.silu
// CHECK: stretto.mul %[[GATE]]

// CHECK-LABEL: stretto.layer @head(
// CHECK: %table: tensor<256x64xf32> dims [vocab, embed] init normal(2.000000e-02)
