// RUN: stretto-opt %s --propagate --assign --plan-reshards | FileCheck %s
// Two samples do not fill four replicas. A weight that rests on all four is gathered before it is used, a term of its gradient
// sliced and scattered where it is added up: the layer works as if nothing rested apart, on two shards of the batch.

module attributes {stretto.mesh = #stretto.mesh<dp = 4>} {
  // CHECK-LABEL: stretto.segment @l.gather
  // CHECK: stretto.all_gather %arg0 {cause = "param 0: dimension 1 on {dp} -> dimension 1 whole; for result 0 (param) of l.gather"
  stretto.segment @l.gather(%w: tensor<4x8xf32> {stretto.role = "param"})
      -> (tensor<4x8xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{}, {}]>}) attributes {direction = "gather"} {
    stretto.yield %w : tensor<4x8xf32>
  }
  // CHECK-LABEL: stretto.segment @l.fwd
  // CHECK-NEXT: stretto.einsum "b i, i o -> b o" %arg0, %arg1 : {{.*}}[{dp:(1)2}, {}]{{.*}} -> tensor<2x8xf32, #stretto.dist<mesh<dp = 4>, [{dp:(1)2}, {}]>>
  // CHECK-NEXT: stretto.yield
  stretto.segment @l.fwd(%x: tensor<2x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %w: tensor<4x8xf32> {stretto.role = "param"})
      -> (tensor<2x8xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %y = stretto.einsum "b i, i o -> b o" %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    stretto.yield %y : tensor<2x8xf32>
  }
  // CHECK-LABEL: stretto.segment @l.bwd
  // CHECK: %[[G:.*]] = stretto.einsum "b i, b o -> i o" %arg0, %arg1 : {{.*}} -> tensor<4x8xf32, #stretto.dist<mesh<dp = 4>, [{}, {}], sum {dp:(1)2}>>
  // CHECK-NEXT: stretto.yield %[[G]]
  stretto.segment @l.bwd(%x: tensor<2x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %dy: tensor<2x8xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{dp}, {?}]>})
      -> (tensor<4x8xf32> {stretto.role = "term"}) attributes {direction = "backward"} {
    %g = stretto.einsum "b i, b o -> i o" %x, %dy : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    stretto.yield %g : tensor<4x8xf32>
  }
  // CHECK-LABEL: stretto.segment @l.accumulate
  // CHECK-NOT: all_reduce
  // CHECK: stretto.reduce_scatter
  // CHECK: stretto.add %arg1, %{{.*}} -> tensor<4x8xf32, #stretto.dist<mesh<dp = 4>, [{}, {dp}]>>
  // CHECK-NEXT: stretto.yield
  stretto.segment @l.accumulate(%g: tensor<4x8xf32> {stretto.role = "term"},
      %sum: tensor<4x8xf32> {stretto.role = "accumulator", stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">})
      -> (tensor<4x8xf32> {stretto.role = "accumulator", stretto.alias = 1 : i64, stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">}) attributes {direction = "accumulate"} {
    %s = stretto.add %sum, %g : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    stretto.yield %s : tensor<4x8xf32>
  }
  stretto.step @train(%w: tensor<4x8xf32> {stretto.binding = "param:w", stretto.constraint = #stretto.constraint<[{}, {dp}]>},
      %x: tensor<1x2x4xf32> {stretto.binding = "input:x"}) -> (tensor<4x8xf32> {stretto.binding = "grad:w"}) {
    %zero = stretto.zeros : tensor<4x8xf32>
    %copy = stretto.invoke @l.gather(%w) instance "l" : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %g = stretto.microbatches 1 inputs(%x) carried(%zero) : (tensor<1x2x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%xk: tensor<2x4xf32>, %acc: tensor<4x8xf32>):
      %y = stretto.invoke @l.fwd(%xk, %copy) instance "l" : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
      %t = stretto.invoke @l.bwd(%xk, %y) instance "l" : (tensor<2x4xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
      %s = stretto.invoke @l.accumulate(%t, %acc) instance "l" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      stretto.yield %s : tensor<4x8xf32>
    }
    stretto.yield %g : tensor<4x8xf32>
  }
}
