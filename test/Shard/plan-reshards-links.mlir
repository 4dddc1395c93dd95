// RUN: stretto-opt %s -plan-reshards=memory-factor=4 -split-input-file | FileCheck %s

// The fewest bytes win where nothing is known of the links.
#both = #stretto.dist<mesh<dp = 2, tp = 4>, [{dp, tp}, {}]>
#columns = #stretto.dist<mesh<dp = 2, tp = 4>, [{}, {tp}]>
// CHECK-LABEL: @fewest_bytes
// CHECK-NEXT: all_to_all
// CHECK-NEXT: all_gather
// CHECK-NEXT: yield
stretto.segment @fewest_bytes(%x: tensor<64x64xf32, #both>) -> tensor<64x64xf32, #columns> attributes {direction = "forward"} {
  %y = stretto.reshard %x : tensor<64x64xf32, #both> -> tensor<64x64xf32, #columns>
  stretto.yield %y : tensor<64x64xf32, #columns>
}

// -----

// Where a round costs as much as 100 kB, 14 kB are sent in one rather than 6 kB in two.
#both = #stretto.dist<mesh<dp = 2, tp = 4>, [{dp, tp}, {}]>
#columns = #stretto.dist<mesh<dp = 2, tp = 4>, [{}, {tp}]>
module attributes {stretto.links = {dp = {latency = 1.0e-5}, tp = {latency = 1.0e-5}}} {
  // CHECK-LABEL: @fewest_rounds
  // CHECK-NEXT: all_gather
  // CHECK-NEXT: shard_slice
  // CHECK-NEXT: yield
  stretto.segment @fewest_rounds(%x: tensor<64x64xf32, #both>) -> tensor<64x64xf32, #columns> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<64x64xf32, #both> -> tensor<64x64xf32, #columns>
    stretto.yield %y : tensor<64x64xf32, #columns>
  }
}
