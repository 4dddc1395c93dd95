// RUN: stretto-opt %s --propagate --assign --plan-reshards --localize --verify-local | FileCheck %s --check-prefixes=CHECK,KEPT
// RUN: sed '/direction = "forward"/s/{/{stretto.repeat_gathers, /' %s | stretto-opt --propagate --assign --plan-reshards --localize --verify-local | FileCheck %s --check-prefixes=CHECK,REPEATED
// Megatron's tensor-parallel MLP with sequence parallelism falls out of the types: the forward gathers the
// sequence once and reduce-scatters once; the backward gathers the cotangent, and the norm's result again unless it is
// saved as gathered, and reduce-scatters the input cotangent; weight gradients stay partial over dp.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  // CHECK-LABEL: stretto.segment @mlp.fwd
  // CHECK-SAME: %{{.*}}: tensor<4x8x32xf32>
  // CHECK: %[[N:.*]] = stretto.rms_norm
  // CHECK-SAME: tensor<4x8x32xf32>
  // CHECK: %[[G:.*]] = stretto.all_gather %[[N]] {{.*}}dim = 1
  // CHECK-SAME: tensor<4x8x32xf32> -> tensor<4x16x32xf32>
  // CHECK: stretto.einsum "b s e, e f -> b s f" %[[G]]
  // CHECK-SAME: tensor<4x16x64xf32>
  // CHECK: stretto.silu
  // CHECK: %[[P:.*]] = stretto.einsum "b s f, f e -> b s e"
  // CHECK: stretto.reduce_scatter %[[P]] {{.*}}dim = 1
  // CHECK-SAME: {tp}
  // CHECK-SAME: tensor<4x16x32xf32> -> tensor<4x8x32xf32>
  // CHECK-NOT: stretto.all_
  // KEPT: stretto.yield {{.*}}, %[[G]],
  // REPEATED: stretto.yield {{.*}}, %[[N]],
  stretto.segment @mlp.fwd(
      %x: tensor<8x16x32xf32> {stretto.role = "activation", stretto.dims = ["batch", "seq", "embed"], stretto.constraint = #stretto.constraint<[{dp}, {tp}p1, {}]>},
      %g: tensor<32xf32> {stretto.role = "param", stretto.param = "g"},
      %w1: tensor<32x128xf32> {stretto.role = "param", stretto.param = "w1", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %w2: tensor<128x32xf32> {stretto.role = "param", stretto.param = "w2", stretto.constraint = #stretto.constraint<[{tp}, {}]>})
      -> (tensor<8x16x32xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {tp}p1, {}]>},
          tensor<8x16x32xf32> {stretto.role = "saved"}, tensor<8x16x128xf32> {stretto.role = "saved"})
      attributes {direction = "forward"} {
    %n = stretto.rms_norm %x, %g {eps = 1.0e-5 : f64} : tensor<8x16x32xf32>, tensor<32xf32> -> tensor<8x16x32xf32>
    %h = stretto.einsum "b s e, e f -> b s f" %n, %w1 : tensor<8x16x32xf32>, tensor<32x128xf32> -> tensor<8x16x128xf32>
    %a = stretto.silu %h : tensor<8x16x128xf32> -> tensor<8x16x128xf32>
    %o = stretto.einsum "b s f, f e -> b s e" %a, %w2 : tensor<8x16x128xf32>, tensor<128x32xf32> -> tensor<8x16x32xf32>
    %y = stretto.add %x, %o : tensor<8x16x32xf32>, tensor<8x16x32xf32> -> tensor<8x16x32xf32>
    stretto.yield %y, %n, %h : tensor<8x16x32xf32>, tensor<8x16x32xf32>, tensor<8x16x128xf32>
  }
  // CHECK-LABEL: stretto.segment @mlp.bwd
  // KEPT-COUNT-1: stretto.all_gather
  // REPEATED-COUNT-2: stretto.all_gather
  // CHECK-NOT: stretto.all_
  // CHECK: stretto.reduce_scatter
  // CHECK-NOT: stretto.all_
  // CHECK-NOT: stretto.reduce_scatter
  // CHECK: stretto.yield
  stretto.segment @mlp.bwd(
      %x: tensor<8x16x32xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {tp}p1, {}]>},
      %n: tensor<8x16x32xf32> {stretto.role = "saved"},
      %h: tensor<8x16x128xf32> {stretto.role = "saved"},
      %g: tensor<32xf32> {stretto.role = "param", stretto.param = "g"},
      %w1: tensor<32x128xf32> {stretto.role = "param", stretto.param = "w1", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %w2: tensor<128x32xf32> {stretto.role = "param", stretto.param = "w2", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
      %dy: tensor<8x16x32xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{dp}, {tp}p1, {}]>},
      %ag: tensor<32xf32> {stretto.role = "accumulator", stretto.param = "g"},
      %aw1: tensor<32x128xf32> {stretto.role = "accumulator", stretto.param = "w1"},
      %aw2: tensor<128x32xf32> {stretto.role = "accumulator", stretto.param = "w2"})
      -> (tensor<8x16x32xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{dp}, {tp}p1, {}]>},
          tensor<32xf32> {stretto.role = "accumulator", stretto.alias = 7 : i64},
          tensor<32x128xf32> {stretto.role = "accumulator", stretto.alias = 8 : i64},
          tensor<128x32xf32> {stretto.role = "accumulator", stretto.alias = 9 : i64})
      attributes {direction = "backward"} {
    %a = stretto.silu %h : tensor<8x16x128xf32> -> tensor<8x16x128xf32>
    %da = stretto.einsum "b s e, f e -> b s f" %dy, %w2 : tensor<8x16x32xf32>, tensor<128x32xf32> -> tensor<8x16x128xf32>
    %dw2 = stretto.einsum "b s f, b s e -> f e" %a, %dy : tensor<8x16x128xf32>, tensor<8x16x32xf32> -> tensor<128x32xf32>
    %dh = stretto.mul %da, %h : tensor<8x16x128xf32>, tensor<8x16x128xf32> -> tensor<8x16x128xf32>
    %dn = stretto.einsum "b s f, e f -> b s e" %dh, %w1 : tensor<8x16x128xf32>, tensor<32x128xf32> -> tensor<8x16x32xf32>
    %dw1 = stretto.einsum "b s e, b s f -> e f" %n, %dh : tensor<8x16x32xf32>, tensor<8x16x128xf32> -> tensor<32x128xf32>
    %dx0, %dg = stretto.rms_norm_grad %x, %g, %dn {eps = 1.0e-5 : f64} : tensor<8x16x32xf32>, tensor<32xf32>, tensor<8x16x32xf32> -> tensor<8x16x32xf32>, tensor<32xf32>
    %dx = stretto.add %dy, %dx0 : tensor<8x16x32xf32>, tensor<8x16x32xf32> -> tensor<8x16x32xf32>
    %ng = stretto.add %ag, %dg : tensor<32xf32>, tensor<32xf32> -> tensor<32xf32>
    %nw1 = stretto.add %aw1, %dw1 : tensor<32x128xf32>, tensor<32x128xf32> -> tensor<32x128xf32>
    %nw2 = stretto.add %aw2, %dw2 : tensor<128x32xf32>, tensor<128x32xf32> -> tensor<128x32xf32>
    stretto.yield %dx, %ng, %nw1, %nw2 : tensor<8x16x32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>
  }
  // The norm's gradient is summed over both axes (its input was split over both), the weights' over dp only.
  // CHECK-LABEL: stretto.segment @mlp.reduce
  // CHECK: stretto.all_reduce %arg1 {{.*}}{dp}>
  // CHECK: stretto.all_reduce %arg0 {{.*}}{dp, tp}>
  // CHECK: stretto.all_reduce %arg2 {{.*}}{dp}>
  stretto.segment @mlp.reduce(
      %ag: tensor<32xf32> {stretto.role = "accumulator"}, %aw1: tensor<32x128xf32> {stretto.role = "accumulator"},
      %aw2: tensor<128x32xf32> {stretto.role = "accumulator"}, %norm: tensor<f32> {stretto.role = "partial_scalar"})
      -> (tensor<32xf32> {stretto.role = "grad"}, tensor<32x128xf32> {stretto.role = "grad"}, tensor<128x32xf32> {stretto.role = "grad"},
          tensor<f32> {stretto.role = "partial_scalar"}) attributes {direction = "reduce"} {
    %sq = stretto.mul %aw1, %aw1 : tensor<32x128xf32>, tensor<32x128xf32> -> tensor<32x128xf32>
    %s = stretto.reduce sum %sq dims [0, 1] : tensor<32x128xf32> -> tensor<f32>
    %n = stretto.add %norm, %s : tensor<f32>, tensor<f32> -> tensor<f32>
    stretto.yield %ag, %aw1, %aw2, %n : tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<f32>
  }
  // CHECK-LABEL: stretto.step @train
  // CHECK: tensor<32x64xf32> {{.*}}stretto.global_shape = array<i64: 32, 128>
  // CHECK: stretto.zeros : tensor<32x64xf32>
  stretto.step @train(
      %g: tensor<32xf32> {stretto.binding = "param:g"}, %w1: tensor<32x128xf32> {stretto.binding = "param:w1"},
      %w2: tensor<128x32xf32> {stretto.binding = "param:w2"}, %x: tensor<4x8x16x32xf32> {stretto.binding = "input:x"})
      -> (tensor<32xf32> {stretto.binding = "grad:g"}, tensor<32x128xf32> {stretto.binding = "grad:w1"}, tensor<128x32xf32> {stretto.binding = "grad:w2"}) {
    %zg = stretto.zeros : tensor<32xf32>
    %zw1 = stretto.zeros : tensor<32x128xf32>
    %zw2 = stretto.zeros : tensor<128x32xf32>
    %zn = stretto.zeros : tensor<f32>
    %a:3 = stretto.microbatches 4 inputs(%x) carried(%zg, %zw1, %zw2) : (tensor<4x8x16x32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>) -> (tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>) {
    ^bb0(%xk: tensor<8x16x32xf32>, %cg: tensor<32xf32>, %cw1: tensor<32x128xf32>, %cw2: tensor<128x32xf32>):
      %y, %n, %h = stretto.invoke @mlp.fwd(%xk, %g, %w1, %w2) instance "mlp" : (tensor<8x16x32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>) -> (tensor<8x16x32xf32>, tensor<8x16x32xf32>, tensor<8x16x128xf32>)
      %dx, %ng, %nw1, %nw2 = stretto.invoke @mlp.bwd(%xk, %n, %h, %g, %w1, %w2, %y, %cg, %cw1, %cw2) instance "mlp" : (tensor<8x16x32xf32>, tensor<8x16x32xf32>, tensor<8x16x128xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<8x16x32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>) -> (tensor<8x16x32xf32>, tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>)
      stretto.yield %ng, %nw1, %nw2 : tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>
    }
    %r:4 = stretto.invoke @mlp.reduce(%a#0, %a#1, %a#2, %zn) instance "mlp" : (tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<f32>) -> (tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>, tensor<f32>)
    stretto.yield %r#0, %r#1, %r#2 : tensor<32xf32>, tensor<32x128xf32>, tensor<128x32xf32>
  }
}
