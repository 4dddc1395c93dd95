// RUN: stretto-opt %s | stretto-opt | FileCheck %s
// Constraints say open and closed dimensions, priorities, sub-axes, axes that must not shard the value and axes over
// which it may stay partial; the operations that steer propagation print as they are read.

// CHECK-LABEL: stretto.segment @words
stretto.segment @words(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    attributes {direction = "forward"} {
  // CHECK: stretto.constrain %{{.*}} <[{dp}, {tp:(1)2, ?}p2], replicated {cp}, partial {ep, "odd axis"}, "here">
  %a = stretto.constrain %x <[{dp}, {tp:(1)2, ?}p2], replicated {cp}, partial {ep, "odd axis"}, "here"> : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: stretto.constrain %{{.*}} <[{}, {?}]>
  %b = stretto.constrain %y <[{}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: stretto.propagation_barrier backward %{{.*}} : tensor<8x16xf32> -> tensor<8x16xf32>
  %c = stretto.propagation_barrier backward %b : tensor<8x16xf32> -> tensor<8x16xf32>
  // CHECK: stretto.shard_alike(%{{.*}}, %{{.*}}) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  %d:2 = stretto.shard_alike(%a, %c) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  stretto.yield %d#0, %d#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
