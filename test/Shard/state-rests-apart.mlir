// RUN: stretto-opt %s --propagate --assign --plan-reshards | FileCheck %s
// Two samples do not fill four replicas. A weight that rests on all four is gathered before its first use, a gradient
// sliced and scattered after it is made: the layer works as if nothing rested apart, on two shards of the batch.

module attributes {stretto.mesh = #stretto.mesh<dp = 4>} {
  // CHECK-LABEL: stretto.segment @l.fwd
  // CHECK-NEXT: %[[W:.*]] = stretto.all_gather %arg1 {cause = "param 1: dimension 1 on {dp} -> dimension 1 whole; for the layer"
  // CHECK-NEXT: stretto.einsum "b i, i o -> b o" %arg0, %[[W]] : {{.*}}[{dp:(1)2}, {}]{{.*}} -> tensor<2x8xf32, #stretto.dist<mesh<dp = 4>, [{dp:(1)2}, {}]>>
  // CHECK-NEXT: stretto.yield
  stretto.segment @l.fwd(%x: tensor<2x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %w: tensor<4x8xf32> {stretto.role = "param", stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">})
      -> (tensor<2x8xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %y = stretto.einsum "b i, i o -> b o" %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    stretto.yield %y : tensor<2x8xf32>
  }
  // CHECK-LABEL: stretto.segment @l.bwd
  // CHECK: %[[G:.*]] = stretto.einsum "b i, b o -> i o" %arg0, %arg1 : {{.*}} -> tensor<4x8xf32, #stretto.dist<mesh<dp = 4>, [{}, {}], sum {dp:(1)2}>>
  // CHECK-NOT: all_reduce
  // CHECK: stretto.reduce_scatter
  // CHECK: stretto.add %arg2, %{{.*}} -> tensor<4x8xf32, #stretto.dist<mesh<dp = 4>, [{}, {dp}]>>
  // CHECK-NEXT: stretto.yield
  stretto.segment @l.bwd(%x: tensor<2x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %dy: tensor<2x8xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %sum: tensor<4x8xf32> {stretto.role = "accumulator", stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">})
      -> (tensor<4x8xf32> {stretto.role = "accumulator", stretto.alias = 2 : i64, stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">}) attributes {direction = "backward"} {
    %g = stretto.einsum "b i, b o -> i o" %x, %dy : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %s = stretto.add %sum, %g : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    stretto.yield %s : tensor<4x8xf32>
  }
  stretto.step @train(%w: tensor<4x8xf32> {stretto.binding = "param:w", stretto.constraint = #stretto.constraint<[{}, {dp}]>},
      %x: tensor<1x2x4xf32> {stretto.binding = "input:x"}) -> (tensor<4x8xf32> {stretto.binding = "grad:w"}) {
    %zero = stretto.zeros : tensor<4x8xf32>
    %g = stretto.microbatches 1 inputs(%x) carried(%zero) : (tensor<1x2x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%xk: tensor<2x4xf32>, %acc: tensor<4x8xf32>):
      %y = stretto.invoke @l.fwd(%xk, %w) instance "l" : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
      %s = stretto.invoke @l.bwd(%xk, %y, %acc) instance "l" : (tensor<2x4xf32>, tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      stretto.yield %s : tensor<4x8xf32>
    }
    stretto.yield %g : tensor<4x8xf32>
  }
}
