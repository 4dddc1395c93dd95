// RUN: stretto-opt %s -fuse | FileCheck %s
// Operations that share rows are one kernel, between library calls; equal kernels
// of different layers are one symbol; what the rank knows is a scalar of the launch.

// CHECK-COUNT-5: stretto.kernel
// CHECK-NOT: stretto.kernel

// Norm, product, bias and GELU, product, residual sum with dropout.
// CHECK-LABEL: stretto.segment @a.fwd
// CHECK: %[[N:.*]] = stretto.launch @[[NORM:.*layer_norm]](%arg0, %arg1, %arg2) {aliases = array<i64: -1>, scalars = []}
// CHECK-NEXT: %[[H:.*]] = stretto.gemm %[[N]], %arg3
// CHECK-NEXT: %[[A:.*]] = stretto.launch @[[GELU:.*add_gelu]](%[[H]], %arg4)
// CHECK-NEXT: %[[O:.*]] = stretto.gemm %[[A]], %arg5
// CHECK-NEXT: %[[D:.*]] = stretto.launch @[[DROP:.*add_dropout]](%arg0, %[[O]])
// CHECK-SAME: scalars = ["seed", "step", "instance", #stretto.offset<mesh<dp = 2>, [dp * 4], microbatch * 8>]
// CHECK-NEXT: stretto.yield %[[D]], %[[N]]
stretto.segment @a.fwd(%x: tensor<4x33x64xf32>, %g: tensor<64xf32>, %be: tensor<64xf32>, %w: tensor<64x128xf32>, %b: tensor<128xf32>, %w2: tensor<128x64xf32>)
   -> (tensor<4x33x64xf32>, tensor<4x33x64xf32>) attributes {direction = "forward"} {
  %n = stretto.layer_norm %x, %g, %be {eps = 1.0e-5 : f64} : tensor<4x33x64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<4x33x64xf32>
  %h = stretto.einsum "b s e, e f -> b s f" %n, %w : tensor<4x33x64xf32>, tensor<64x128xf32> -> tensor<4x33x128xf32>
  %hb = stretto.add %h, %b : tensor<4x33x128xf32>, tensor<128xf32> -> tensor<4x33x128xf32>
  %a = stretto.gelu %hb {tanh} : tensor<4x33x128xf32> -> tensor<4x33x128xf32>
  %o = stretto.einsum "b s f, f e -> b s e" %a, %w2 : tensor<4x33x128xf32>, tensor<128x64xf32> -> tensor<4x33x64xf32>
  %r = stretto.add %x, %o : tensor<4x33x64xf32>, tensor<4x33x64xf32> -> tensor<4x33x64xf32>
  %d = stretto.dropout %r {p = 0.1 : f64, op_id = 3 : i64, extents = array<i64: 8, 33, 64>, sample_dim = 0 : i64, offsets = [#stretto.offset<mesh<dp = 2>, [dp * 4], microbatch * 8>, #stretto.offset<mesh<dp = 2>, []>, #stretto.offset<mesh<dp = 2>, []>]} : tensor<4x33x64xf32> -> tensor<4x33x64xf32>
  stretto.yield %d, %n : tensor<4x33x64xf32>, tensor<4x33x64xf32>
}

// CHECK-LABEL: stretto.segment @b.fwd
// CHECK: stretto.launch @[[NORM]](%arg2, %arg0, %arg1)
stretto.segment @b.fwd(%g: tensor<64xf32>, %be: tensor<64xf32>, %x: tensor<4x33x64xf32>)
   -> tensor<4x33x64xf32> attributes {direction = "forward"} {
  %n = stretto.layer_norm %x, %g, %be {eps = 1.0e-5 : f64} : tensor<4x33x64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<4x33x64xf32>
  stretto.yield %n : tensor<4x33x64xf32>
}

// The gradient of a norm with its accumulators, in place.
// CHECK-LABEL: stretto.segment @a.bwd
// CHECK: %[[R:.*]]:3 = stretto.launch @{{.*}}layer_norm_grad_add(%arg0, %arg2, %arg1, %arg3, %arg4) {aliases = array<i64: -1, 3, 4>
// CHECK-NEXT: stretto.yield %[[R]]#0, %[[R]]#1, %[[R]]#2
stretto.segment @a.bwd(%x: tensor<4x33x64xf32>, %g: tensor<64xf32>, %dy: tensor<4x33x64xf32>, %ag: tensor<64xf32>, %ab: tensor<64xf32>)
   -> (tensor<4x33x64xf32>, tensor<64xf32> {stretto.alias = 3 : i64}, tensor<64xf32> {stretto.alias = 4 : i64}) attributes {direction = "backward"} {
  %dx, %dg, %db = stretto.layer_norm_grad %x, %g, %dy {eps = 1.0e-5 : f64} : tensor<4x33x64xf32>, tensor<64xf32>, tensor<4x33x64xf32> -> tensor<4x33x64xf32>, tensor<64xf32>, tensor<64xf32>
  %ng = stretto.add %ag, %dg : tensor<64xf32>, tensor<64xf32> -> tensor<64xf32>
  %nb = stretto.add %ab, %db : tensor<64xf32>, tensor<64xf32> -> tensor<64xf32>
  stretto.yield %dx, %ng, %nb : tensor<4x33x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Every parameter has its update, in place; both parameters have one kernel.
// CHECK-LABEL: stretto.segment @a.update
// CHECK: stretto.launch @[[ADAM:.*adamw]]({{.*}}) {aliases = array<i64: 5, 2, 3>
// CHECK-NEXT: stretto.launch @[[ADAM]]({{.*}}) {aliases = array<i64: 5, 2, 3>
stretto.segment @a.update(%p: tensor<16x64xf32>, %p2: tensor<16x64xf32>, %g: tensor<16x64xf32>, %g2: tensor<16x64xf32>, %m: tensor<16x64xf32>, %m2: tensor<16x64xf32>, %v: tensor<16x64xf32>, %v2: tensor<16x64xf32>, %h: tensor<4xf32>, %s: tensor<f32>, %ok: tensor<f32>)
   -> (tensor<16x64xf32> {stretto.alias = 0 : i64}, tensor<16x64xf32> {stretto.alias = 1 : i64}, tensor<16x64xf32> {stretto.alias = 4 : i64}, tensor<16x64xf32> {stretto.alias = 5 : i64}, tensor<16x64xf32> {stretto.alias = 6 : i64}, tensor<16x64xf32> {stretto.alias = 7 : i64}) attributes {direction = "update"} {
  %a, %b, %c = stretto.adamw %p, %g, %m, %v, %h, %s, %ok {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>)
  %d, %e, %f = stretto.adamw %p2, %g2, %m2, %v2, %h, %s, %ok {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>)
  stretto.yield %a, %d, %b, %e, %c, %f : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>
}
