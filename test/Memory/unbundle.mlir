// RUN: stretto-opt %s --unbundle | FileCheck %s
// A step with one value per tensor: members are named under their instance,
// loops carry them one by one, and segments are invoked as they are declared.

stretto.segment @f(%w: tensor<4xf32>, %acc: tensor<4xf32>, %n: tensor<2xf32>)
    -> (tensor<4xf32>, tensor<2xf32>) attributes {direction = "backward"} {
  stretto.yield %acc, %n : tensor<4xf32>, tensor<2xf32>
}
// CHECK-LABEL: stretto.step @train(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {stretto.binding = "param:l.0.w", stretto.init = #stretto.init<zeros>},
// CHECK-NEXT: %[[V:[a-z0-9]+]]: tensor<8xf32> {stretto.binding = "param:l.0.attn.v"},
// CHECK-NEXT: %[[X:[a-z0-9]+]]: tensor<3x1xf32> {stretto.binding = "input:x"})
// CHECK: -> (tensor<4xf32> {stretto.binding = "grad:l.0.w"},
// CHECK-NEXT: tensor<2xf32> {stretto.binding = "grad:l.0.n"},
// CHECK-NEXT: tensor<8xf32> {stretto.binding = "output:v"})
// CHECK: %[[ZW:.*]] = stretto.zeros : tensor<4xf32>
// CHECK: %[[ZN:.*]] = stretto.zeros : tensor<2xf32>
// CHECK: %[[SUMS:.*]]:2 = stretto.microbatches 3 inputs(%[[X]]) carried(%[[ZW]], %[[ZN]])
// CHECK: ^bb0(%{{.*}}: tensor<1xf32>, %[[AW:.*]]: tensor<4xf32>, %[[AN:.*]]: tensor<2xf32>):
// CHECK: %[[R:.*]]:2 = stretto.invoke @f(%[[W]], %[[AW]], %[[AN]]) instance "l.0" : (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>)
// CHECK: stretto.yield %[[R]]#0, %[[R]]#1
// CHECK: %[[G:.*]]:2 = stretto.invoke @f(%[[W]], %[[SUMS]]#0, %[[SUMS]]#1)
// CHECK: %[[OUT:.*]] = stretto.invoke @v(%[[V]])
// CHECK: stretto.yield %[[G]]#0, %[[G]]#1, %[[OUT]] : tensor<4xf32>, tensor<2xf32>, tensor<8xf32>
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>>
      {stretto.binding = "param:l.0",
       stretto.members = #stretto.members<[{name = "w", stretto.init = #stretto.init<zeros>}, {name = "attn.v"}]>},
    %x: tensor<3x1xf32> {stretto.binding = "input:x"})
    -> (tuple<tensor<4xf32>, tensor<2xf32>>
          {stretto.binding = "grad:l.0", stretto.members = #stretto.members<[{name = "w"}, {name = "n"}]>},
        tensor<8xf32> {stretto.binding = "output:v"}) {
  %z = stretto.zeros : tuple<tensor<4xf32>, tensor<2xf32>>
  %sums = stretto.microbatches 3 inputs(%x) carried(%z)
      : (tensor<3x1xf32>, tuple<tensor<4xf32>, tensor<2xf32>>) -> tuple<tensor<4xf32>, tensor<2xf32>> {
  ^bb0(%slice: tensor<1xf32>, %acc: tuple<tensor<4xf32>, tensor<2xf32>>):
    %r = stretto.invoke @f(%p[0], %acc) instance "l.0"
      : (tuple<tensor<4xf32>, tensor<8xf32>>, tuple<tensor<4xf32>, tensor<2xf32>>) -> tuple<tensor<4xf32>, tensor<2xf32>>
    stretto.yield %r : tuple<tensor<4xf32>, tensor<2xf32>>
  }
  %g = stretto.invoke @f(%p[0], %sums) instance "l.0"
    : (tuple<tensor<4xf32>, tensor<8xf32>>, tuple<tensor<4xf32>, tensor<2xf32>>) -> tuple<tensor<4xf32>, tensor<2xf32>>
  %v = stretto.invoke @v(%p[1]) instance "l.0" : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<8xf32>
  stretto.yield %g, %v : tuple<tensor<4xf32>, tensor<2xf32>>, tensor<8xf32>
}
stretto.segment @v(%v: tensor<8xf32>) -> (tensor<8xf32>) attributes {direction = "eval"} {
  stretto.yield %v : tensor<8xf32>
}
