// RUN: stretto-opt %s | FileCheck %s

// A training step of three layers that shards parameters over dp (ZeRO 3) and
// overlaps: gathers ahead of their use and reductions of gradients run on
// stream 1. Two buffers hold gathered parameters, two hold gradients before
// their reduction; every edge is needed. What test/unit/Program breaks.

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.kernel @apply(%x: tensor<8xf32>) -> tensor<8xf32> {
    stretto.yield %x : tensor<8xf32>
  }
  stretto.kernel @keep(%x: tensor<8xf32>) -> tensor<8xf32> {
    stretto.yield %x : tensor<8xf32>
  }
  stretto.kernel @back(%x: tensor<8xf32>) -> tensor<8xf32> {
    stretto.yield %x : tensor<8xf32>
  }
  stretto.kernel @first(%x: tensor<8xf32>) -> tensor<8xf32> {
    stretto.yield %x : tensor<8xf32>
  }
  stretto.kernel @step(%x: tensor<8xf32>) -> tensor<8xf32> {
    stretto.yield %x : tensor<8xf32>
  }
  program.region parameters 192
  program.region inputs 64
  program.region working 256
  program.region activations 576
  program.region gradients 1024
  program.region scratch 1088
  program.segment @gather(w: 64 r, whole: 128 w) scratch 0 {
    program.collective all_gather sum f32(r arg0[0, 64], w arg1[0, 128]) over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 16 cause "w over dp"
  }
  program.segment @fwd(x: 64 r, w: 128 r, y: 64 w) scratch 64 {
    program.launch @apply(r arg0[0, 64], r arg1[0, 128], w local0[0, 64]) scalars []
    program.launch @keep(r local0[0, 64], w arg2[0, 64]) scalars []
  }
  program.segment @bwd(x: 64 r, dy: 64 r, w: 128 r, acc: 128 w, dx: 64 w) scratch 0 {
    program.launch @back(r arg0[0, 64], r arg1[0, 64], r arg2[0, 128], w arg3[0, 128], w arg4[0, 64]) scalars []
  }
  program.segment @bwd0(x: 64 r, dy: 64 r, w: 128 r, acc: 128 w) scratch 0 {
    program.launch @first(r arg0[0, 64], r arg1[0, 64], r arg2[0, 128], w arg3[0, 128]) scalars []
  }
  program.segment @reduce(acc: 128 r, g: 64 w) scratch 0 {
    program.collective reduce_scatter sum f32(r arg0[0, 128], w arg1[0, 64]) over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 16 cause "gradient over dp"
  }
  program.segment @update(g: 64 r, w: 64 rw) scratch 0 {
    program.launch @step(r arg0[0, 64], rw arg1[0, 64]) scalars []
  }
  program.parameter "w0" f32 [32] on <mesh<dp = 2>, [{dp}]> at parameters[0, 64] gradient gradients[832, 64 : 20] moments ()
  program.parameter "w1" f32 [32] on <mesh<dp = 2>, [{dp}]> at parameters[64, 64] gradient gradients[896, 64 : 21] moments ()
  program.parameter "w2" f32 [32] on <mesh<dp = 2>, [{dp}]> at parameters[128, 64] gradient gradients[960, 64 : 22] moments ()
  // CHECK: program.function @train
  // CHECK: program.call @fwd({{.*}}) using scratch[1024, 64] instance "0" after [0]
  // CHECK: program.call @gather({{.*}}) instance "2" stream 1 after [2]
  program.function @train attributes {program.data_flow = 0 : i64} {
    program.input "x" f32 [32] on <mesh<dp = 2>, [{dp}]> at (inputs[0, 64])
    program.call @gather(parameters[0, 64], working[0, 128 : 1]) instance "0" stream 1
    program.call @gather(parameters[64, 64], working[128, 128 : 2]) instance "1" stream 1
    program.call @fwd(inputs[0, 64], working[0, 128 : 1], activations[256, 64 : 4]) using scratch[1024, 64] instance "0" after [0]
    program.call @gather(parameters[128, 64], working[0, 128 : 3]) instance "2" stream 1 after [2]
    program.call @fwd(activations[256, 64 : 4], working[128, 128 : 2], activations[320, 64 : 5]) using scratch[1024, 64] instance "1" after [1]
    program.call @fwd(activations[320, 64 : 5], working[0, 128 : 3], activations[384, 64 : 6]) using scratch[1024, 64] instance "2" after [3]
    program.call @bwd(activations[320, 64 : 5], activations[384, 64 : 6], working[0, 128 : 3], gradients[576, 128 : 10], activations[448, 64 : 7]) instance "2"
    program.call @reduce(gradients[576, 128 : 10], gradients[960, 64 : 22]) instance "2" stream 1 after [6]
    program.call @bwd(activations[256, 64 : 4], activations[448, 64 : 7], working[128, 128 : 2], gradients[704, 128 : 11], activations[512, 64 : 8]) instance "1"
    program.call @gather(parameters[0, 64], working[0, 128 : 9]) instance "0" stream 1
    program.call @reduce(gradients[704, 128 : 11], gradients[896, 64 : 21]) instance "1" stream 1 after [8]
    program.call @bwd0(inputs[0, 64], activations[512, 64 : 8], working[0, 128 : 9], gradients[576, 128 : 12]) instance "0" after [9]
    program.call @reduce(gradients[576, 128 : 12], gradients[832, 64 : 20]) instance "0" stream 1 after [11]
    program.call @update(gradients[960, 64 : 22], parameters[128, 64]) instance "2" after [10]
    program.call @update(gradients[896, 64 : 21], parameters[64, 64]) instance "1"
    program.call @update(gradients[832, 64 : 20], parameters[0, 64]) instance "0" after [12]
  }
}
