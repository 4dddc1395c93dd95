// RUN: stretto-opt %s | stretto-opt | FileCheck %s

// The words of the executable print and parse.

// CHECK: program.region activations 4096 live 4032
program.region activations 4096 live 4032

// CHECK-LABEL: program.segment @seg(x: 1024 r, y: 1024 rw) scratch 192
program.segment @seg(x: 1024 r, y: 1024 rw) scratch 192 {
  // CHECK: program.launch @k(r arg0[0, 1024], w local0[0, 64]) scalars ["seed", 3]
  program.launch @k(r arg0[0, 1024], w local0[0, 64]) scalars ["seed", 3]
  // CHECK: program.gemm f32(r arg0[0, 1024], r arg0[0, 1024], rw arg1[0, 1024]) m 16 n 16 k 16 a [16, 1] b [16, 1] c [16, 1] batch [] a [] b [] c [] accumulate
  program.gemm f32(r arg0[0, 1024], r arg0[0, 1024], rw arg1[0, 1024]) m 16 n 16 k 16 a [16, 1] b [16, 1] c [16, 1] batch [] a [] b [] c [] accumulate
  // CHECK: program.collective all_gather sum f32(r arg0[0, 512], w arg1[0, 1024]) over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 128 cause "why" {stream = 1 : i64}
  program.collective all_gather sum f32(r arg0[0, 512], w arg1[0, 1024]) over <mesh<dp = 2>, {dp}> sizes 1 x 1 x 128 cause "why" {stream = 1 : i64}
  program.fill(w local0[0, 64])
  program.copy(r local0[0, 64], w local0[128, 64])
  // CHECK: program.record 3 {stream = 1 : i64}
  program.record 3 {stream = 1 : i64}
  program.wait 3
}

// CHECK-LABEL: program.function @train
program.function @train {
  // CHECK: program.input "tokens" i32 [8, 16] dims ["batch", "seq"] on <mesh<dp = 2>, {{\[}}{dp}, {}]> at (inputs[0, 256], inputs[256, 256])
  program.input "tokens" i32 [8, 16] dims ["batch", "seq"] on <mesh<dp = 2>, [{dp}, {}]> at (inputs[0, 256], inputs[256, 256])
  // CHECK: program.call @seg(activations[0, 1024], gradients[64, 1024]) using scratch[0, 192] instance "layers.0" microbatch 1
  program.call @seg(activations[0, 1024], gradients[64, 1024]) using scratch[0, 192] instance "layers.0" microbatch 1
}

// CHECK: program.parameter "w" f32 [16, 16] init <normal(2.000000e-02)> at parameters[0, 1024] gradient gradients[64, 1024] moments (optimizer[0, 1024])
program.parameter "w" f32 [16, 16] init <normal(0.02)> at parameters[0, 1024] gradient gradients[64, 1024] moments (optimizer[0, 1024])
