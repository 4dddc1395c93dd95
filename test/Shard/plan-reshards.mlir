// RUN: stretto-opt %s -plan-reshards -split-input-file -verify-diagnostics | FileCheck %s

// A transposition of blocks is one exchange; the way back is another.
#rows = #stretto.dist<mesh<a = 2, b = 2>, [{a}, {b}]>
#columns = #stretto.dist<mesh<a = 2, b = 2>, [{b}, {a}]>
// CHECK-LABEL: @transposed
// CHECK-NEXT: stretto.permute %arg0 {cause = "why", group = #stretto.group<mesh<a = 2, b = 2>, {a, b}>, to = #stretto.group<mesh<a = 2, b = 2>, {b, a}>}
// CHECK-NEXT: yield
stretto.segment @transposed(%x: tensor<4x4xf32, #rows>) -> tensor<4x4xf32, #columns> attributes {direction = "forward"} {
  %y = stretto.reshard %x {cause = "why"} : tensor<4x4xf32, #rows> -> tensor<4x4xf32, #columns>
  stretto.yield %y : tensor<4x4xf32, #columns>
}

// -----

// Two views of the same ranks: a group ep = [dp, tp] and its axes the other way round.
#ep = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp, tp}, {}]>
#view = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {tp, dp}]>
// CHECK-LABEL: @views
// CHECK-NEXT: stretto.all_to_all %arg0 {concat_dim = 0 : i64, group = #stretto.group<mesh<dp = 2, tp = 2>, {dp, tp}>, split_dim = 1 : i64, to = #stretto.group<mesh<dp = 2, tp = 2>, {tp, dp}>}
// CHECK-NEXT: yield
stretto.segment @views(%x: tensor<4x4xf32, #ep>) -> tensor<4x4xf32, #view> attributes {direction = "forward"} {
  %y = stretto.reshard %x : tensor<4x4xf32, #ep> -> tensor<4x4xf32, #view>
  stretto.yield %y : tensor<4x4xf32, #view>
}

// -----

// 25 elements on 5 ranks and, padded to 27, on 3 share no blocks: the whole value is needed for a moment, and said so.
#five = #stretto.dist<mesh<a = 5, b = 3>, [{a}]>
#three = #stretto.dist<mesh<a = 5, b = 3>, [{b}], padded [27]>
// CHECK-LABEL: @nothing_in_common
// CHECK-NEXT: all_gather
// CHECK-NEXT: pad_extent
// CHECK-NEXT: shard_slice
stretto.segment @nothing_in_common(%x: tensor<25xf32, #five>) -> tensor<25xf32, #three> attributes {direction = "forward"} {
  // expected-remark @+3 {{needs 108 bytes on every rank for a moment, more than 72 bytes (all-gather {a} 0, pad 0, slice {b} 0)}}
  // expected-note @+2 {{moved because: gradient of w}}
  // expected-note @+1 {{the two sides have no shards in common; give the dimension the same axes on both sides}}
  %y = stretto.reshard %x {cause = "gradient of w"} : tensor<25xf32, #five> -> tensor<25xf32, #three>
  stretto.yield %y : tensor<25xf32, #three>
}

// -----

// Shards of 6 and of 8 elements share blocks of 2: nothing is ever whole.
#four = #stretto.dist<mesh<a = 4, b = 3>, [{a}]>
#three = #stretto.dist<mesh<a = 4, b = 3>, [{b}]>
// CHECK-LABEL: @blocks_of_two
// CHECK-NEXT: shard_slice
// CHECK-NEXT: permute
// CHECK-NEXT: all_gather
// CHECK-NEXT: yield
stretto.segment @blocks_of_two(%x: tensor<24xf32, #four>) -> tensor<24xf32, #three> attributes {direction = "forward"} {
  %y = stretto.reshard %x : tensor<24xf32, #four> -> tensor<24xf32, #three>
  stretto.yield %y : tensor<24xf32, #three>
}

// -----

#sum = #stretto.dist<mesh<tp = 4>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 4>, [{}]>
// expected-error @+1 {{links: axis 'tp' has no 'speed'; it has latency (seconds) and bandwidth (bytes per second)}}
module attributes {stretto.links = {tp = {speed = 1.0}}} {
  stretto.segment @nonsense(%x: tensor<64xf32, #sum>) -> tensor<64xf32, #whole> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<64xf32, #sum> -> tensor<64xf32, #whole>
    stretto.yield %y : tensor<64xf32, #whole>
  }
}

// -----

#max = #stretto.dist<mesh<tp = 4>, [{}], max {tp}>
#whole = #stretto.dist<mesh<tp = 4>, [{}]>
stretto.segment @no_zeros(%x: tensor<64xf32, #whole>) -> tensor<64xf32, #max> attributes {direction = "forward"} {
  // expected-error @+2 {{makes a partial max over {tp} of a value that has none, [{}] to [{}], max {tp}; only a sum has zeros to add}}
  // expected-note @+1 {{this would fit: stretto.reshard %arg0 : [{}] -> [{}]}}
  %y = stretto.reshard %x : tensor<64xf32, #whole> -> tensor<64xf32, #max>
  stretto.yield %y : tensor<64xf32, #max>
}
