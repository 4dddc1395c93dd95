// RUN: stretto-opt %s --propagate --assign | FileCheck %s
// Wishes pass slices, pads and concats: what they do not touch is one class, what they move lies alike on both sides.

module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // The wish of the result's rows reaches the activation before the slice, and the columns of the weight.
  // CHECK-LABEL: @slice
  // CHECK: stretto.einsum {{.*}} -> tensor<9x8xf32, {{.*}}[{tp}, {}], padded [10, 0]>>
  // CHECK: stretto.window {{.*}} -> tensor<8x8xf32, {{.*}}[{tp}, {}]>>
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield
  stretto.segment @slice(%x: tensor<9x4xf32> {stretto.role = "activation"}, %w: tensor<4x8xf32> {stretto.role = "param"})
      -> (tensor<8x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{tp}, {}]>}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<9x4xf32>, tensor<4x8xf32> -> tensor<9x8xf32>
    %s = stretto.slice %a dims [0] starts [1] limits [9] strides [1] : tensor<9x8xf32> -> tensor<8x8xf32>
    stretto.yield %s : tensor<8x8xf32>
  }
  // CHECK-LABEL: @untouched
  // CHECK: stretto.einsum {{.*}} -> tensor<9x8xf32, {{.*}}[{}, {tp}]>>
  // CHECK-NEXT: stretto.slice {{.*}} -> tensor<8x8xf32, {{.*}}[{}, {tp}]>>
  // CHECK-NEXT: stretto.pad {{.*}} -> tensor<12x8xf32, {{.*}}[{}, {tp}]>>
  // CHECK-NEXT: stretto.yield
  stretto.segment @untouched(%x: tensor<9x4xf32> {stretto.role = "activation"}, %w: tensor<4x8xf32> {stretto.role = "param"})
      -> (tensor<12x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<9x4xf32>, tensor<4x8xf32> -> tensor<9x8xf32>
    %s = stretto.slice %a dims [0] starts [1] limits [9] strides [1] : tensor<9x8xf32> -> tensor<8x8xf32>
    %p = stretto.pad %s with 0.0 dims [0] low [1] high [3] interior [0] : tensor<8x8xf32> -> tensor<12x8xf32>
    stretto.yield %p : tensor<12x8xf32>
  }
  // Forward, from the operands of a concat to the weight that reads it.
  // CHECK-LABEL: @concat
  // CHECK: stretto.reshard %arg2 {{.*}} -> tensor<8x4xf32, {{.*}}[{tp}, {}]>>
  // CHECK-NEXT: stretto.einsum "m k, k n -> m n"
  // CHECK-SAME: -> tensor<3x4xf32, {{.*}}sum {tp}>>
  stretto.segment @concat(%x: tensor<3x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %y: tensor<3x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>}, %w: tensor<8x4xf32> {stretto.role = "param"})
      -> (tensor<3x4xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %c = stretto.concat %x, %y dim 1 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x8xf32>
    %a = stretto.einsum "m k, k n -> m n" %c, %w : tensor<3x8xf32>, tensor<8x4xf32> -> tensor<3x4xf32>
    stretto.yield %a : tensor<3x4xf32>
  }
  // A closed dimension takes no offer.
  // CHECK-LABEL: @closed
  // CHECK: stretto.slice {{.*}} -> tensor<8x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>
  stretto.segment @closed(%x: tensor<9x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}]>})
      -> (tensor<8x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{tp}, {}]>}) attributes {direction = "forward"} {
    %s = stretto.slice %x dims [0] starts [1] limits [9] strides [1] : tensor<9x8xf32> -> tensor<8x8xf32>
    stretto.yield %s : tensor<8x8xf32>
  }
  stretto.step @s(%x: tensor<9x4xf32> {stretto.binding = "param:x"}, %w: tensor<4x8xf32> {stretto.binding = "param:w"}, %y: tensor<3x4xf32> {stretto.binding = "param:y"}, %v: tensor<8x4xf32> {stretto.binding = "param:v"}, %z: tensor<9x8xf32> {stretto.binding = "param:z"}) {
    %1 = stretto.invoke @slice(%x, %w) instance "a" : (tensor<9x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %2 = stretto.invoke @untouched(%x, %w) instance "b" : (tensor<9x4xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
    %3 = stretto.invoke @concat(%y, %y, %v) instance "c" : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %4 = stretto.invoke @closed(%z) instance "d" : (tensor<9x8xf32>) -> tensor<8x8xf32>
    stretto.yield
  }
}
