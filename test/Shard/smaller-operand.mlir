// RUN: stretto-opt %s --propagate --assign --plan-reshards | FileCheck %s
// Where operands of a product lie on one axis in ways that exclude each other, what is cheaper moves: with 64 rows and 8
// columns the right operand, with 8 rows and 64 columns the left one; with a long contraction and a small result neither
// is gathered, and one is exchanged so that the result is a sum.

#rows = #stretto.constraint<[{tp}, {}]>
#columns = #stretto.constraint<[{}, {tp}]>
module attributes {stretto.mesh = #stretto.mesh<tp = 4>} {
  // Sent by a rank: 3 * 16 * 2 elements; the other way 3 * 16 * 16.
  // CHECK-LABEL: @tall
  // CHECK-NOT: all_gather
  // CHECK: stretto.all_gather %{{.*}}dim = 1 {{.*}} : tensor<16x8xf32,
  // CHECK-NOT: all_gather
  // CHECK: stretto.einsum {{.*}} -> tensor<64x8xf32, {{.*}}[{tp}, {}]>>
  stretto.segment @tall(%a: tensor<64x16xf32> {stretto.constraint = #rows, stretto.role = "activation"},
      %b: tensor<16x8xf32> {stretto.constraint = #columns, stretto.role = "activation"})
      -> (tensor<64x8xf32> {stretto.role = "cotangent"}) attributes {direction = "forward"} {
    %c = stretto.einsum "m k, k n -> m n" %a, %b : tensor<64x16xf32>, tensor<16x8xf32> -> tensor<64x8xf32>
    stretto.yield %c : tensor<64x8xf32>
  }
  // CHECK-LABEL: @wide
  // CHECK-NOT: all_gather
  // CHECK: stretto.all_gather %{{.*}}dim = 0 {{.*}} : tensor<8x16xf32,
  // CHECK-NOT: all_gather
  // CHECK: stretto.einsum {{.*}} -> tensor<8x64xf32, {{.*}}[{}, {tp}]>>
  stretto.segment @wide(%a: tensor<8x16xf32> {stretto.constraint = #rows, stretto.role = "activation"},
      %b: tensor<16x64xf32> {stretto.constraint = #columns, stretto.role = "activation"})
      -> (tensor<8x64xf32> {stretto.role = "cotangent"}) attributes {direction = "forward"} {
    %c = stretto.einsum "m k, k n -> m n" %a, %b : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
    stretto.yield %c : tensor<8x64xf32>
  }
  // The operands the other way round in the text: nothing changes.
  // CHECK-LABEL: @swapped
  // CHECK-NOT: all_gather
  // CHECK: stretto.all_gather %{{.*}}dim = 0 {{.*}} : tensor<8x16xf32,
  // CHECK-NOT: all_gather
  // CHECK: stretto.einsum
  stretto.segment @swapped(%a: tensor<8x16xf32> {stretto.constraint = #rows, stretto.role = "activation"},
      %b: tensor<16x64xf32> {stretto.constraint = #columns, stretto.role = "activation"})
      -> (tensor<8x64xf32> {stretto.role = "cotangent"}) attributes {direction = "forward"} {
    %c = stretto.einsum "k n, m k -> m n" %b, %a : tensor<16x64xf32>, tensor<8x16xf32> -> tensor<8x64xf32>
    stretto.yield %c : tensor<8x64xf32>
  }
  // Both hold the axis, one in the contraction: 16x256 is exchanged (3/4 of it once), 256x16 stays.
  // CHECK-LABEL: @long
  // CHECK-NOT: all_gather
  // CHECK: stretto.all_to_all {{.*}} : tensor<16x256xf32,
  // CHECK: stretto.einsum {{.*}} -> tensor<16x16xf32, {{.*}}sum {tp}>>
  stretto.segment @long(%a: tensor<16x256xf32> {stretto.constraint = #rows, stretto.role = "activation"},
      %b: tensor<256x16xf32> {stretto.constraint = #rows, stretto.role = "activation"})
      -> (tensor<16x16xf32> {stretto.role = "cotangent"}) attributes {direction = "forward"} {
    %c = stretto.einsum "m k, k n -> m n" %a, %b : tensor<16x256xf32>, tensor<256x16xf32> -> tensor<16x16xf32>
    stretto.yield %c : tensor<16x16xf32>
  }
  // With a short one the right operand is gathered: 4x16 where the left one has 64 rows.
  // CHECK-LABEL: @short
  // CHECK: stretto.all_gather {{.*}} : tensor<4x16xf32,
  // CHECK: stretto.einsum {{.*}} -> tensor<64x16xf32, {{.*}}[{tp}, {}]>>
  stretto.segment @short(%a: tensor<64x4xf32> {stretto.constraint = #rows, stretto.role = "activation"},
      %b: tensor<4x16xf32> {stretto.constraint = #rows, stretto.role = "activation"})
      -> (tensor<64x16xf32> {stretto.role = "cotangent"}) attributes {direction = "forward"} {
    %c = stretto.einsum "m k, k n -> m n" %a, %b : tensor<64x4xf32>, tensor<4x16xf32> -> tensor<64x16xf32>
    stretto.yield %c : tensor<64x16xf32>
  }
  stretto.step @s(%a: tensor<64x16xf32> {stretto.binding = "param:a"}, %b: tensor<16x8xf32> {stretto.binding = "param:b"}, %c: tensor<8x16xf32> {stretto.binding = "param:c"}, %d: tensor<16x64xf32> {stretto.binding = "param:d"},
      %e: tensor<16x256xf32> {stretto.binding = "param:e"}, %f: tensor<256x16xf32> {stretto.binding = "param:f"}, %g: tensor<64x4xf32> {stretto.binding = "param:g"}, %h: tensor<4x16xf32> {stretto.binding = "param:h"}) {
    %1 = stretto.invoke @tall(%a, %b) instance "a" : (tensor<64x16xf32>, tensor<16x8xf32>) -> tensor<64x8xf32>
    %2 = stretto.invoke @wide(%c, %d) instance "b" : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %3 = stretto.invoke @swapped(%c, %d) instance "c" : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %4 = stretto.invoke @long(%e, %f) instance "d" : (tensor<16x256xf32>, tensor<256x16xf32>) -> tensor<16x16xf32>
    %5 = stretto.invoke @short(%g, %h) instance "e" : (tensor<64x4xf32>, tensor<4x16xf32>) -> tensor<64x16xf32>
    stretto.yield
  }
}
