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
  // Through one that makes it bigger, and through a factor that is no scalar, where what follows makes it small enough:
  // 8x2 is reduced, not 8x4.
  // CHECK-LABEL: @grows_and_shrinks
  // CHECK: stretto.einsum {{.*}} -> tensor<8x4xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.einsum {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.mul {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.einsum {{.*}} -> tensor<8x2xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  stretto.segment @grows_and_shrinks(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x4xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %v: tensor<4x16xf32> {stretto.role = "param"}, %f: tensor<8x16xf32> {stretto.role = "activation"},
      %u: tensor<16x2xf32> {stretto.role = "param"}) -> (tensor<8x2xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x4xf32> -> tensor<8x4xf32>
    %b = stretto.einsum "m n, n o -> m o" %a, %v : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
    %c = stretto.mul %b, %f : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    %d = stretto.einsum "m n, n o -> m o" %c, %u : tensor<8x16xf32>, tensor<16x2xf32> -> tensor<8x2xf32>
    stretto.yield %d : tensor<8x2xf32>
  }
  // Not where the chain never gets smaller than what it begins with.
  // CHECK-LABEL: @grows_and_stays
  // CHECK: stretto.einsum {{.*}} -> tensor<8x2xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  stretto.segment @grows_and_stays(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x2xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %v: tensor<2x16xf32> {stretto.role = "param"}, %u: tensor<16x4xf32> {stretto.role = "param"}) -> (tensor<8x4xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x2xf32> -> tensor<8x2xf32>
    %b = stretto.einsum "m n, n o -> m o" %a, %v : tensor<8x2xf32>, tensor<2x16xf32> -> tensor<8x16xf32>
    %d = stretto.einsum "m n, n o -> m o" %b, %u : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %d : tensor<8x4xf32>
  }
  // Two sums meet in a product: one is reduced (the smaller), the other goes on into the smaller result.
  // CHECK-LABEL: @two_sums
  // CHECK: %[[A:.*]] = stretto.einsum {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK: %[[B:.*]] = stretto.einsum {{.*}} -> tensor<16x2xf32, {{.*}}sum {tp}>>
  // CHECK: %[[R:.*]] = stretto.reshard %[[B]]
  // CHECK-NOT: stretto.reshard %[[A]]
  // CHECK: stretto.einsum "m n, n o -> m o" %[[A]], %[[R]] {{.*}} -> tensor<8x2xf32, {{.*}}sum {tp}>>
  stretto.segment @two_sums(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %y: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %z: tensor<32x2xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> (tensor<8x2xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "k n, k o -> n o" %y, %z : tensor<32x16xf32>, tensor<32x2xf32> -> tensor<16x2xf32>
    %c = stretto.einsum "m n, n o -> m o" %a, %b : tensor<8x16xf32>, tensor<16x2xf32> -> tensor<8x2xf32>
    stretto.yield %c : tensor<8x2xf32>
  }
  // Through what only moves elements; of the slice's 3 rows 24 numbers are reduced, not 128.
  // CHECK-LABEL: @moved
  // CHECK: stretto.einsum {{.*}} -> tensor<8x16xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.transpose {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshape {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.slice {{.*}} -> tensor<1x3x8xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.pad {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.slice {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  stretto.segment @moved(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> (tensor<1x2x8xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %t = stretto.transpose %a perm [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
    %r = stretto.reshape %t : tensor<16x8xf32> -> tensor<2x8x8xf32>
    %s = stretto.slice %r dims [0, 1] starts [1, 2] limits [2, 5] strides [1, 1] : tensor<2x8x8xf32> -> tensor<1x3x8xf32>
    %p = stretto.pad %s with 0.0 dims [1] low [1] high [1] interior [0] : tensor<1x3x8xf32> -> tensor<1x5x8xf32>
    %q = stretto.slice %p dims [1] starts [0] limits [2] strides [1] : tensor<1x5x8xf32> -> tensor<1x2x8xf32>
    stretto.yield %q : tensor<1x2x8xf32>
  }
  // Sums one after the other are a sum; with a value that is none they are reduced first.
  // CHECK-LABEL: @joined
  // CHECK: stretto.concat {{.*}} -> tensor<8x32xf32, {{.*}}sum {tp}>>
  // CHECK-NEXT: stretto.reshard
  // CHECK-NEXT: stretto.concat {{.*}} -> tensor<8x36xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>
  stretto.segment @joined(%x: tensor<8x32xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>},
      %w: tensor<32x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %y: tensor<8x4xf32> {stretto.role = "activation"}) -> (tensor<8x36xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m k, k n -> m n" %x, %w : tensor<8x32xf32>, tensor<32x16xf32> -> tensor<8x16xf32>
    %c = stretto.concat %a, %b dim 1 : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x32xf32>
    %d = stretto.concat %c, %y dim 1 : tensor<8x32xf32>, tensor<8x4xf32> -> tensor<8x36xf32>
    stretto.yield %d : tensor<8x36xf32>
  }
  stretto.step @s(%x: tensor<8x32xf32> {stretto.binding = "param:x"}, %w: tensor<32x16xf32> {stretto.binding = "param:w"},
      %v: tensor<16x4xf32> {stretto.binding = "param:v"}, %w4: tensor<32x4xf32> {stretto.binding = "param:w4"}, %v4: tensor<4x16xf32> {stretto.binding = "param:v4"}) {
    %a = stretto.invoke @shrinks(%x, %w, %v) instance "a" : (tensor<8x32xf32>, tensor<32x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %b = stretto.invoke @grows(%x, %w4, %v4) instance "b" : (tensor<8x32xf32>, tensor<32x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    %c:2 = stretto.invoke @two_uses(%x, %w) instance "c" : (tensor<8x32xf32>, tensor<32x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %d = stretto.invoke @terms(%x, %w) instance "d" : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
  stretto.step @t(%x: tensor<8x32xf32> {stretto.binding = "param:x"}, %w: tensor<32x16xf32> {stretto.binding = "param:w"}, %w4: tensor<32x4xf32> {stretto.binding = "param:w4"},
      %w2: tensor<32x2xf32> {stretto.binding = "param:w2"}, %v4: tensor<4x16xf32> {stretto.binding = "param:v4"}, %v2: tensor<2x16xf32> {stretto.binding = "param:v2"}, %u2: tensor<16x2xf32> {stretto.binding = "param:u2"},
      %u4: tensor<16x4xf32> {stretto.binding = "param:u4"}, %f: tensor<8x16xf32> {stretto.binding = "param:f"}, %y: tensor<32x16xf32> {stretto.binding = "param:y"}, %j: tensor<8x4xf32> {stretto.binding = "param:j"}) {
    %a = stretto.invoke @grows_and_shrinks(%x, %w4, %v4, %f, %u2) instance "a" : (tensor<8x32xf32>, tensor<32x4xf32>, tensor<4x16xf32>, tensor<8x16xf32>, tensor<16x2xf32>) -> tensor<8x2xf32>
    %b = stretto.invoke @grows_and_stays(%x, %w2, %v2, %u4) instance "b" : (tensor<8x32xf32>, tensor<32x2xf32>, tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %c = stretto.invoke @two_sums(%x, %w, %y, %w2) instance "c" : (tensor<8x32xf32>, tensor<32x16xf32>, tensor<32x16xf32>, tensor<32x2xf32>) -> tensor<8x2xf32>
    %d = stretto.invoke @moved(%x, %w) instance "d" : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<1x2x8xf32>
    %e = stretto.invoke @joined(%x, %w, %j) instance "e" : (tensor<8x32xf32>, tensor<32x16xf32>, tensor<8x4xf32>) -> tensor<8x36xf32>
    stretto.yield
  }
}
