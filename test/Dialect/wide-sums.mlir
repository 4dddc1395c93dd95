// RUN: stretto-opt %s -split-input-file -verify-diagnostics | FileCheck %s
// Sums of 16-bit values may be kept in f32; statistics of them are f32.

// CHECK-LABEL: stretto.segment @sums
stretto.segment @sums(%x: tensor<4x8xbf16>, %w: tensor<8x6xbf16>, %ids: tensor<4xi32>, %g: tensor<8xbf16>) -> tensor<4x6xf32> attributes {direction = "backward"} {
  // CHECK: einsum {{.*}} : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xf32>
  %y = stretto.einsum "i k, k j -> i j" %x, %w : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xf32>
  // CHECK: reduce sum {{.*}} : tensor<4x8xbf16> -> tensor<8xf32>
  %r = stretto.reduce sum %x dims [0] : tensor<4x8xbf16> -> tensor<8xf32>
  %t = stretto.embedding_grad %ids, %x : tensor<4xi32>, tensor<4x8xbf16> -> tensor<10x8xf32>
  // CHECK: rms_norm_grad {{.*}} -> tensor<4x8xbf16>, tensor<8xf32>
  %dx, %dg = stretto.rms_norm_grad %x, %g, %x {eps = 1.0e-5 : f64} : tensor<4x8xbf16>, tensor<8xbf16>, tensor<4x8xbf16> -> tensor<4x8xbf16>, tensor<8xf32>
  // CHECK: gemm {{.*}} : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xf32>
  %z = stretto.gemm %x, %w acc %y : tensor<4x6xf32> {m = 4 : i64, n = 6 : i64, k = 8 : i64, a_strides = array<i64: 8, 1>, b_strides = array<i64: 6, 1>, c_strides = array<i64: 6, 1>, batch = array<i64>, a_batch = array<i64>, b_batch = array<i64>, c_batch = array<i64>} : tensor<4x8xbf16>, tensor<8x6xbf16> -> tensor<4x6xf32>
  stretto.yield %z : tensor<4x6xf32>
}

// CHECK-LABEL: stretto.segment @statistics
stretto.segment @statistics(%q: tensor<2x4x3x8xbf16>, %l: tensor<4x9xbf16>, %ids: tensor<4xi32>) -> tensor<4x9xbf16> attributes {direction = "backward"} {
  %o, %lse = stretto.attention %q, %q, %q {scale = 0.5 : f64} : tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16> -> tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>
  %dq, %dk, %dv = stretto.attention_grad %q, %q, %q, %o, %lse, %o {scale = 0.5 : f64} : tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x3x4xf32>, tensor<2x4x3x8xbf16> -> tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>, tensor<2x4x3x8xbf16>
  %loss, %all = stretto.cross_entropy %l, %ids : tensor<4x9xbf16>, tensor<4xi32> -> tensor<4xf32>, tensor<4xf32>
  // CHECK: cross_entropy_grad {{.*}} : tensor<4x9xbf16>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x9xbf16>
  %dl = stretto.cross_entropy_grad %l, %ids, %all, %loss {vocabulary = 9 : i64} : tensor<4x9xbf16>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x9xbf16>
  stretto.yield %dl : tensor<4x9xbf16>
}

// -----

stretto.segment @mixed(%x: tensor<4x8xbf16>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> attributes {direction = "forward"} {
  // expected-error @below {{operands are 'bf16' and 'f32'; use stretto.convert}}
  %y = stretto.einsum "i k, k j -> i j" %x, %w : tensor<4x8xbf16>, tensor<8x6xf32> -> tensor<4x6xf32>
  stretto.yield %y : tensor<4x6xf32>
}

// -----

stretto.segment @narrower(%ids: tensor<4xi32>, %dy: tensor<4x8xf32>) -> tensor<10x8xbf16> attributes {direction = "backward"} {
  // expected-error @below {{operands are 'f32', the result 'bf16', expected 'f32' or a wider float}}
  %t = stretto.embedding_grad %ids, %dy : tensor<4xi32>, tensor<4x8xf32> -> tensor<10x8xbf16>
  stretto.yield %t : tensor<10x8xbf16>
}

// -----

stretto.segment @integers(%x: tensor<4xi32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{rounds_parts is for floats}}
  %y = stretto.convert %x {rounds_parts} : tensor<4xi32> -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.segment @rounded_lse(%l: tensor<4x9xbf16>, %ids: tensor<4xi32>, %lse: tensor<4xbf16>, %d: tensor<4xf32>) -> tensor<4x9xbf16> attributes {direction = "backward"} {
  // expected-error @below {{lse is 'bf16', expected 'f32'}}
  %dl = stretto.cross_entropy_grad %l, %ids, %lse, %d {vocabulary = 9 : i64} : tensor<4x9xbf16>, tensor<4xi32>, tensor<4xbf16>, tensor<4xf32> -> tensor<4x9xbf16>
  stretto.yield %dl : tensor<4x9xbf16>
}

// -----

stretto.segment @rounded_product(%x: tensor<4x4xf32>) -> tensor<4x4xbf16> attributes {direction = "forward"} {
  // expected-error @below {{a and b are 'f32', the result 'bf16', expected 'f32' or a wider float}}
  %z = stretto.gemm %x, %x {m = 4 : i64, n = 4 : i64, k = 4 : i64, a_strides = array<i64: 4, 1>, b_strides = array<i64: 4, 1>, c_strides = array<i64: 4, 1>, batch = array<i64>, a_batch = array<i64>, b_batch = array<i64>, c_batch = array<i64>} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xbf16>
  stretto.yield %z : tensor<4x4xbf16>
}
