// RUN: stretto-opt %s -lower-to-program | FileCheck %s

// CHECK: program.collective permute sum f32(r arg0[0, 96], w arg1[0, 96]) over <mesh<dp = 2, tp = 3>, {tp, dp}> to <mesh<dp = 2, tp = 3>, {dp, tp}> sizes 1 x 1 x 24
stretto.segment @f(%x: tensor<6x4xf32>) -> tensor<6x4xf32> attributes {direction = "forward"} {
  %y = stretto.permute %x {group = #stretto.group<mesh<dp = 2, tp = 3>, {tp, dp}>, to = #stretto.group<mesh<dp = 2, tp = 3>, {dp, tp}>} : tensor<6x4xf32> -> tensor<6x4xf32>
  stretto.yield %y : tensor<6x4xf32>
}

// CHECK: program.collective permute sum f32(r arg0[0, 96], w arg1[0, 96]) over <mesh<dp = 2, tp = 3>, {tp}> to <mesh<dp = 2, tp = 3>, {tp}> shift 2 sizes 1 x 1 x 24
stretto.segment @g(%x: tensor<6x4xf32>) -> tensor<6x4xf32> attributes {direction = "forward"} {
  %y = stretto.permute %x {group = #stretto.group<mesh<dp = 2, tp = 3>, {tp}>, to = #stretto.group<mesh<dp = 2, tp = 3>, {tp}>, shift = 2 : i64} : tensor<6x4xf32> -> tensor<6x4xf32>
  stretto.yield %y : tensor<6x4xf32>
}
