// RUN: stretto-opt %s --propagate --assign | FileCheck %s
// How far a partial sum is carried: through what is linear, as long as waiting for the reduction costs nothing or pays.

module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // Through a product that makes it smaller: the reduction moves 8x4 numbers instead of 8x16.
  // CHECK-LABEL: @shrinks
  // CHECK: stretto.einsum {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.einsum {{.*}} -> tensor<8x4xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  stretto.segment @shrinks(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %v: tensor<16x4xf32> {stretto.role = "param"}) -> (tensor<8x4xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m n, n o -> m o" %a, %v : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %b : tensor<8x4xf32>
  }
  // Not through one that makes it bigger.
  // CHECK-LABEL: @grows
  // CHECK: stretto.einsum {{.*}} -> tensor<8x4xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  // CHECK-NEXT: stretto.einsum {{.*}} -> tensor<8x16xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>
  stretto.segment @grows(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x4xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %v: tensor<4x16xf32> {stretto.role = "param"}) -> (tensor<8x16xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x4xf32> -> tensor<8x4xf32>
    %b = stretto.einsum "m n, n o -> m o" %a, %v : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
    stretto.yield %b : tensor<8x16xf32>
  }
  // Two uses: one reduction before both instead of one after each.
  // CHECK-LABEL: @two_uses
  // CHECK: %[[P:.*]] = stretto.einsum
  // CHECK-NEXT: %[[R:.*]] = stretto.reshard %[[P]]
  // CHECK-NEXT: stretto.neg %[[R]]
  // CHECK-NEXT: stretto.exp %[[R]]
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield
  stretto.segment @two_uses(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      -> (tensor<8x16xf32> {stretto.role = "activation"}, tensor<8x16xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %b = stretto.neg %a : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.exp %a : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b, %c : tensor<8x16xf32>, tensor<8x16xf32>
  }
  // Terms of one sum are added as terms; a constraint ends the sum unless it wants it.
  // CHECK-LABEL: @terms
  // CHECK: stretto.add {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.neg {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  // CHECK-NEXT: stretto.neg {{.*}} -> tensor<8x16xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>
  // CHECK: stretto.yield
  stretto.segment @terms(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      -> (tensor<8x16xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %c = stretto.add %a, %b : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    %d = stretto.constrain %c <[{?}, {?}], partial {tp}> : tensor<8x16xf32> -> tensor<8x16xf32>
    %e = stretto.neg %d : tensor<8x16xf32> -> tensor<8x16xf32>
    %f = stretto.constrain %e <[{?}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %g = stretto.neg %f : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %g : tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x32xf32> {stretto.binding = "param:x"}, %w: tensor<32x16xf32> {stretto.binding = "param:w"},
      %v: tensor<16x4xf32> {stretto.binding = "param:v"}, %w4: tensor<32x4xf32> {stretto.binding = "param:w4"}, %v4: tensor<4x16xf32> {stretto.binding = "param:v4"}) {
    %a = stretto.invoke @shrinks(%x, %w, %v) instance "a" : (tensor<8x32xf32>, tensor<32x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %b = stretto.invoke @grows(%x, %w4, %v4) instance "b" : (tensor<8x32xf32>, tensor<32x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %c:2 = stretto.invoke @two_uses(%x, %w) instance "c" : (tensor<8x32xf32>, tensor<32x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %d = stretto.invoke @terms(%x, %w) instance "d" : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}
