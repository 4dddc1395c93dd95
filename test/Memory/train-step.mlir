// RUN: stretto-opt %s -lower-to-program | FileCheck %s

// A training step of one linear layer on dp = 2 with two micro-batches: memory
// arguments, aliases, scratch, unrolled calls, regions.

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.kernel @loss(%y: tensor<4x8xf32>, %sum: tensor<f32>) -> (tensor<4x8xf32>, tensor<f32>) {
    stretto.yield %y, %sum : tensor<4x8xf32>, tensor<f32>
  }
  stretto.kernel @norm(%g: tensor<8x8xf32>, %s: tensor<f32>) -> tensor<f32> {
    stretto.yield %s : tensor<f32>
  }
  stretto.kernel @finish_k(%s: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    stretto.yield %s, %s, %s : tensor<f32>, tensor<f32>, tensor<f32>
  }
  stretto.kernel @adamw(%p: tensor<8x8xf32>, %g: tensor<8x8xf32>, %m: tensor<8x8xf32>, %h: tensor<4xf32>, %ok: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    stretto.yield %p, %m : tensor<8x8xf32>, tensor<8x8xf32>
  }

  // A result is written straight into the caller's memory: no scratch, no copy.
  // CHECK-LABEL: program.segment @l.fwd(activation.0: 128 r, param.w: 256 r, "new activation.0": 128 w) scratch 0
  // CHECK-NEXT: program.gemm f32(r arg0[0, 128], r arg1[0, 256], w arg2[0, 128])
  stretto.segment @l.fwd(%x: tensor<4x8xf32> {stretto.role = "activation"}, %w: tensor<8x8xf32> {stretto.role = "param", stretto.param = "w"})
      -> (tensor<4x8xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %y = stretto.gemm %x, %w {m = 4, n = 8, k = 8, a_strides = array<i64: 8, 1>, b_strides = array<i64: 8, 1>, c_strides = array<i64: 8, 1>, batch = array<i64>, a_batch = array<i64>, b_batch = array<i64>, c_batch = array<i64>} : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    stretto.yield %y : tensor<4x8xf32>
  }
  // CHECK-LABEL: program.segment @loss.fwd(
  // CHECK-NEXT: program.launch @loss(r arg0[0, 128], rw arg1[0, 4], w arg2[0, 128]) scalars ["microbatch"]
  stretto.segment @loss.fwd(%y: tensor<4x8xf32>, %sum: tensor<f32> {stretto.role = "partial_scalar"})
      -> (tensor<4x8xf32> {stretto.role = "cotangent"}, tensor<f32> {stretto.role = "partial_scalar", stretto.alias = 1 : i64}) attributes {direction = "forward"} {
    %dy, %s = stretto.launch @loss(%y, %sum) {aliases = array<i64: -1, 1>, scalars = ["microbatch"]} : (tensor<4x8xf32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<f32>)
    stretto.yield %dy, %s : tensor<4x8xf32>, tensor<f32>
  }
  // The gradient is added in the accumulator's place.
  // CHECK-LABEL: program.segment @l.bwd(activation.0: 128 r, cotangent.1: 128 r, accumulator.w: 256 rw) scratch 0
  // CHECK-NEXT: program.gemm f32(r arg0[0, 128], r arg1[0, 128], rw arg2[0, 256])
  // CHECK-SAME: accumulate
  stretto.segment @l.bwd(%x: tensor<4x8xf32> {stretto.role = "activation"}, %dy: tensor<4x8xf32> {stretto.role = "cotangent"}, %acc: tensor<8x8xf32> {stretto.role = "accumulator", stretto.param = "w"})
      -> (tensor<8x8xf32> {stretto.role = "accumulator", stretto.alias = 2 : i64}) attributes {direction = "backward"} {
    %a = stretto.gemm %x, %dy acc %acc : tensor<8x8xf32> {m = 8, n = 8, k = 4, a_strides = array<i64: 1, 8>, b_strides = array<i64: 8, 1>, c_strides = array<i64: 8, 1>, batch = array<i64>, a_batch = array<i64>, b_batch = array<i64>, c_batch = array<i64>} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
    stretto.yield %a : tensor<8x8xf32>
  }
  // The gradient takes the accumulator: the all-reduce works in place.
  // CHECK-LABEL: program.segment @l.reduce(accumulator.w: 256 rw, partial_scalar.1: 4 rw) scratch 0
  // CHECK-NEXT: program.collective all_reduce sum f32(r arg0[0, 256], w arg0[0, 256]) over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 64 cause "w over dp"
  // CHECK-NEXT: program.launch @norm(r arg0[0, 256], rw arg1[0, 4])
  stretto.segment @l.reduce(%acc: tensor<8x8xf32> {stretto.role = "accumulator", stretto.param = "w"}, %n: tensor<f32> {stretto.role = "partial_scalar"})
      -> (tensor<8x8xf32> {stretto.role = "grad", stretto.param = "w"}, tensor<f32> {stretto.role = "partial_scalar", stretto.alias = 1 : i64}) attributes {direction = "reduce"} {
    %g = stretto.all_reduce %acc {group = #stretto.group<mesh<dp = 2>, {dp}>, kind = #stretto<reduce_kind sum>, cause = "w over dp"} : tensor<8x8xf32> -> tensor<8x8xf32>
    %n2 = stretto.launch @norm(%g, %n) {aliases = array<i64: 1>, scalars = []} : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
    stretto.yield %g, %n2 : tensor<8x8xf32>, tensor<f32>
  }
  // The sum is still needed by its all-reduce's other reader: not in place.
  // CHECK-LABEL: program.segment @finish(
  // CHECK-NEXT: program.collective all_reduce sum f32(r arg0[0, 4], w local0[0, 4])
  // CHECK-NEXT: program.launch @finish_k(r local0[0, 4], w arg1[0, 4], w arg2[0, 4], w arg3[0, 4])
  stretto.segment @finish(%s: tensor<f32> {stretto.role = "partial_scalar"}) -> (tensor<f32>, tensor<f32>, tensor<f32>) attributes {direction = "finish"} {
    %r = stretto.all_reduce %s {group = #stretto.group<mesh<dp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<f32> -> tensor<f32>
    %a, %b, %c = stretto.launch @finish_k(%r) {aliases = array<i64: -1, -1, -1>, scalars = []} : (tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    stretto.yield %a, %b, %c : tensor<f32>, tensor<f32>, tensor<f32>
  }
  // CHECK-LABEL: program.segment @l.update(
  // CHECK-NEXT: program.launch @adamw(rw arg0[0, 256], r arg1[0, 256], rw arg2[0, 256], r arg3[0, 16], r arg4[0, 4])
  stretto.segment @l.update(%p: tensor<8x8xf32> {stretto.role = "param"}, %g: tensor<8x8xf32> {stretto.role = "grad"}, %m: tensor<8x8xf32> {stretto.role = "moment"}, %h: tensor<4xf32>, %ok: tensor<f32>)
      -> (tensor<8x8xf32> {stretto.alias = 0 : i64}, tensor<8x8xf32> {stretto.alias = 2 : i64}) attributes {direction = "update"} {
    %p2, %m2 = stretto.launch @adamw(%p, %g, %m, %h, %ok) {aliases = array<i64: 0, 2>, scalars = []} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    stretto.yield %p2, %m2 : tensor<8x8xf32>, tensor<8x8xf32>
  }

  // Two activations of 128 bytes and one loss value live at a time, whatever the
  // number of micro-batches. They lie after the gradients, scratch after them.
  // CHECK: program.region parameters 256 live 256
  // CHECK: program.region optimizer 256 live 256
  // CHECK: program.region gradients 384 live 384
  // CHECK: program.region inputs 320 live 320
  // CHECK: program.region outputs 64 live 64
  // CHECK: program.region activations 640 live 256
  // Scratch lies where activations are dead.
  // CHECK: program.region scratch 512{{$}}
  // CHECK: program.parameter "l.w" f32 [8, 8] on <mesh<dp = 2>, {{.*}}> init <normal(2.000000e-02)> at parameters[0, 256] gradient gradients[64, 256 : [[G:[0-9]+]]] moments (optimizer[0, 256])

  // CHECK-LABEL: program.function @train
  // CHECK-NEXT: program.input "x" f32 [8, 8] dims ["batch", "embed"] on <mesh<dp = 2>, {{\[}}{dp}, {}]> at (inputs[0, 128], inputs[128, 128])
  // CHECK-NEXT: program.input "$hyper" f32 [4] at (inputs[256, 16])
  // CHECK-NEXT: program.output "loss" f32 [] at (outputs[0, 4])
  // One fill for the accumulator and both sums.
  // CHECK-NEXT: program.call @fill.384(gradients[0, 384 : {{[0-9]+}}])
  // CHECK-NEXT: program.call @l.fwd(inputs[0, 128], parameters[0, 256], activations[384, 128 : [[A:[0-9]+]]]) instance "l"
  // CHECK-NEXT: program.call @loss.fwd(activations[384, 128 : [[A]]], gradients[[S:.*]], activations[512, 128 : [[D:[0-9]+]]]) instance "loss"
  // CHECK-NEXT: program.call @l.bwd(inputs[0, 128], activations[512, 128 : [[D]]], gradients[64, 256 : [[G]]]) instance "l"
  // CHECK-NEXT: program.call @l.fwd(inputs[128, 128], parameters[0, 256], activations[384, 128 : [[B:[0-9]+]]]) instance "l" microbatch 1
  // CHECK-NEXT: program.call @loss.fwd(activations[384, 128 : [[B]]], gradients[[S]], activations[512, 128 : [[E:[0-9]+]]]) instance "loss" microbatch 1
  // CHECK-NEXT: program.call @l.bwd(inputs[128, 128], activations[512, 128 : [[E]]], gradients[64, 256 : [[G]]]) instance "l" microbatch 1
  // CHECK-NEXT: program.call @l.reduce(gradients[64, 256 : [[G]]], gradients[{{.*}}, 4 : {{[0-9]+}}]) instance "l"
  // CHECK-NEXT: program.call @finish(gradients[[S]], outputs[0, 4], {{.*}}) using scratch[448, 64] instance ""
  // CHECK-NEXT: program.call @l.update(parameters[0, 256], gradients[64, 256 : [[G]]], optimizer[0, 256], inputs[256, 16], {{.*}}) instance "l"
  stretto.step @train(%w: tensor<8x8xf32> {stretto.binding = "param:l.w", stretto.init = #stretto.init<normal(0.02)>, stretto.dist = #stretto.dist<mesh<dp = 2>, [{}, {}]>, stretto.global_shape = array<i64: 8, 8>},
                      %m: tensor<8x8xf32> {stretto.binding = "moment1:l.w"},
                      %x: tensor<2x4x8xf32> {stretto.binding = "input:x", stretto.dims = ["batch", "embed"], stretto.dist = #stretto.dist<mesh<dp = 2>, [{}, {dp}, {}]>, stretto.global_shape = array<i64: 2, 8, 8>},
                      %h: tensor<4xf32> {stretto.binding = "hyper"})
      -> (tensor<8x8xf32> {stretto.binding = "param:l.w"}, tensor<8x8xf32> {stretto.binding = "moment1:l.w"}, tensor<8x8xf32> {stretto.binding = "grad:l.w"}, tensor<f32> {stretto.binding = "output:loss"}) {
    %z = stretto.zeros : tensor<8x8xf32>
    %z0 = stretto.zeros : tensor<f32>
    %acc, %sum = stretto.microbatches 2 inputs(%x) carried(%z, %z0) : (tensor<2x4x8xf32>, tensor<8x8xf32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<f32>) {
    ^bb0(%xk: tensor<4x8xf32>, %a: tensor<8x8xf32>, %s: tensor<f32>):
      %y = stretto.invoke @l.fwd(%xk, %w) instance "l" : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %dy, %s1 = stretto.invoke @loss.fwd(%y, %s) instance "loss" : (tensor<4x8xf32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<f32>)
      %a1 = stretto.invoke @l.bwd(%xk, %dy, %a) instance "l" : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      stretto.yield %a1, %s1 : tensor<8x8xf32>, tensor<f32>
    }
    %g, %n = stretto.invoke @l.reduce(%acc, %z0) instance "l" : (tensor<8x8xf32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<f32>)
    %loss, %norm, %ok = stretto.invoke @finish(%sum) instance "" : (tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    %w1, %m1 = stretto.invoke @l.update(%w, %g, %m, %h, %ok) instance "l" : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    stretto.yield %w1, %m1, %g, %loss : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
  }
}
