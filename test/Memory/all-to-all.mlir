// RUN: stretto-opt %s -lower-to-program | FileCheck %s

// Splitting the major dimension is what the command does. Splitting the minor one
// sends blocks that do not lie in one piece: a kernel brings them together.

// CHECK: stretto.kernel @move_blocks_1x1x2x3x8_1_0_f32
// CHECK-NEXT: stretto.transpose {{.*}} perm [0, 3, 2, 1, 4]
// CHECK: stretto.kernel @move_blocks_2x4x2x15_f32(%[[X:.*]]: tensor<2x4x2x15xf32>) -> tensor<2x2x4x15xf32>
// CHECK-NEXT: stretto.transpose %[[X]] perm [0, 2, 1, 3]

// CHECK-LABEL: program.segment @major_to_minor(
// CHECK-SAME: scratch 0
// CHECK-NEXT: program.collective all_to_all sum f32(r arg0[0, 960], w arg1[0, 960]) over <mesh<tp = 2>, {tp}> sizes 2 x 2 x 30
stretto.segment @major_to_minor(%x: tensor<2x4x6x5xf32>) -> tensor<2x2x12x5xf32> attributes {direction = "forward"} {
  %y = stretto.all_to_all %x {group = #stretto.group<mesh<tp = 2>, {tp}>, split_dim = 1 : i64, concat_dim = 2 : i64} : tensor<2x4x6x5xf32> -> tensor<2x2x12x5xf32>
  stretto.yield %y : tensor<2x2x12x5xf32>
}

// CHECK-LABEL: program.segment @minor_to_major(
// CHECK-SAME: scratch 960
// CHECK-NEXT: program.launch @move_blocks_2x4x2x15_f32(r arg0[0, 960], w local0[0, 960]) scalars []
// CHECK-NEXT: program.collective all_to_all sum f32(r local0[0, 960], w arg1[0, 960]) over <mesh<tp = 2>, {tp}> sizes 2 x 1 x 60
stretto.segment @minor_to_major(%x: tensor<2x4x6x5xf32>) -> tensor<2x8x3x5xf32> attributes {direction = "forward"} {
  %y = stretto.all_to_all %x {group = #stretto.group<mesh<tp = 2>, {tp}>, split_dim = 2 : i64, concat_dim = 1 : i64} : tensor<2x4x6x5xf32> -> tensor<2x8x3x5xf32>
  stretto.yield %y : tensor<2x8x3x5xf32>
}

// Blocks counted in another order than members: 2 x 3 blocks become 3 x 2.

// CHECK-LABEL: program.segment @other_order(
// CHECK-NEXT: program.launch @move_blocks_1x1x2x3x8_1_0_f32(r arg0[0, 192], w local0[0, 192]) scalars []
// CHECK-NEXT: program.collective all_to_all sum f32(r local0[0, 192], w arg1[0, 192]) over <mesh<dp = 2, tp = 3>, {tp, dp}> sizes 1 x 2 x 4
stretto.segment @other_order(%x: tensor<12x4xf32>) -> tensor<2x24xf32> attributes {direction = "forward"} {
  %y = stretto.all_to_all %x {group = #stretto.group<mesh<dp = 2, tp = 3>, {tp, dp}>, to = #stretto.group<mesh<dp = 2, tp = 3>, {dp, tp}>, split_dim = 0 : i64, concat_dim = 1 : i64} : tensor<12x4xf32> -> tensor<2x24xf32>
  stretto.yield %y : tensor<2x24xf32>
}
