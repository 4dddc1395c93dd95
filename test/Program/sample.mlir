// RUN: stretto-opt %s | FileCheck %s

// Every command and every binding: what test/unit/Program serializes and reads
// back.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 4>} {
  stretto.kernel @k0(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
    stretto.yield %x : tensor<16x16xf32>
  }
  stretto.kernel @k1(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
    stretto.yield %x : tensor<16x16xf32>
  }
  program.region parameters 4096
  program.region gradients 1024
  program.region inputs 512
  program.region outputs 64
  program.region activations 8192
  program.region scratch 16384
  program.region working 8192 live 1024
  // CHECK-LABEL: program.segment @all(
  program.segment @all(x: 1024 r, y: 1024 rw, "new z": 4096 rw) scratch 16384 {
    program.launch @k1(r arg0[0, 1024], w arg1[0, 1024]) scalars [#stretto.offset<mesh<dp = 2, tp = 4>, [tp:(2)2 * 8, dp * 16], microbatch * 32>, "seed", "step", "instance", "microbatch", 7] {stream = 1 : i64}
    program.launch @k0(rw arg1[0, 1024]) scalars []
    program.record 0 {stream = 1 : i64}
    program.wait 0
    program.gemm f32(r arg0[0, 1024], r arg1[0, 1024], w local0[0, 1024]) m 16 n 16 k 16 a [16, 1] b [1, 16] c [16, 1] batch [] a [] b [] c []
    program.gemm f32(r arg0[0, 1024], r arg1[0, 1024], rw local0[0, 1024]) m 8 n 8 k 8 a [8, 1] b [8, 1] c [8, 1] batch [4] a [64] b [64] c [64] accumulate
    program.attention f32(r arg0[0, 1024], r arg1[0, 512], r arg1[512, 512], w local0[0, 1024], w local0[1024, 128], w local0[2048, 4096]) sizes [2, 4, 4, 4, 2, 8] causal scale 3.500000e-01 of 16 heads {dropout = 1.000000e-01 : f64, head_offset = #stretto.offset<mesh<dp = 2, tp = 4>, [tp * 4], microbatch * 0>, op_id = 3 : i64}
    program.attention f32(r arg0[0, 1024], r arg1[0, 512], r arg1[512, 512], w local0[0, 2048], w local0[2048, 256], w local0[2560, 4096]) sizes [2, 4, 4, 4, 2, 8] scale 3.500000e-01 of 16 heads {blocks = 2 : i64, key_offset = #stretto.offset<mesh<dp = 2, tp = 4>, [tp * 4]>, keys = 15 : i64, queries = 7 : i64, query_offset = #stretto.offset<mesh<dp = 2, tp = 4>, [dp * 4]>}
    program.collective all_gather sum f32(r arg0[0, 1024], w arg2[0, 4096]) over <mesh<dp = 2, tp = 4>, {tp}> sizes 2 x 1 x 128 cause "x over tp"
    program.collective all_reduce max f32(r arg1[0, 1024], w arg1[0, 1024]) over <mesh<dp = 2, tp = 4>, {dp, tp:(1)2}> sizes 1 x 1 x 256
    program.fill(w local0[64, 64]) {pattern = 255 : i64}
    program.copy(r local0[0, 64], w local0[128, 64])
  }
  program.parameter "w" f32 [16, 60] dims ["embed", "ffn"] on <mesh<dp = 2, tp = 4>, [{}, {tp}], padded [0, 64]> init <uniform(-1.000000e+00, 1.000000e+00)> at parameters[0, 1024] gradient gradients[0, 1024] moments (parameters[1024, 1024], parameters[2048, 1024])
  // CHECK: program.parameter "v" f32 [16] on <mesh<dp = 2, tp = 4>, [{}]> init <ones> at parameters[3072, 64] gradient gradients[0, 32] moments (parameters[3136, 16]) gradient_on <mesh<dp = 2, tp = 4>, [{dp}]> moments_on <mesh<dp = 2, tp = 4>, [{tp}]>
  program.parameter "v" f32 [16] on <mesh<dp = 2, tp = 4>, [{}]> init <ones> at parameters[3072, 64] gradient gradients[0, 32] moments (parameters[3136, 16]) gradient_on <mesh<dp = 2, tp = 4>, [{dp}]> moments_on <mesh<dp = 2, tp = 4>, [{tp}]>
  // CHECK-LABEL: program.function @predict
  program.function @predict {
    program.input "x" i32 [8, 16] dims ["batch", "_"] on <mesh<dp = 2, tp = 4>, [{dp}, {}]> at (inputs[0, 256], inputs[256, 256])
    program.output "loss" f32 [] on <mesh<dp = 2, tp = 4>, []> at (outputs[0, 4])
    program.call @all(parameters[0, 1024], activations[0, 1024], activations[1024, 4096 : 12]) using scratch[0, 16384] instance "layers.3" microbatch 1
    // CHECK: instance "layers.4" microbatch 1 stream 1 after [0]
    program.call @all(parameters[0, 1024], working[0, 1024], activations[1024, 4096]) using scratch[0, 16384] instance "layers.4" microbatch 1 stream 1 after [0]
  }
}
