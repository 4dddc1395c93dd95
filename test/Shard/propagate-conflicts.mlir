// RUN: stretto-opt %s --propagate | FileCheck %s
// One axis that several factors of an operation want: the lower priority number has it; without priorities the choice
// that costs less, the same for both orders of the operands.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  // A batch over dp times a weight that rests over dp (ZeRO): the batch keeps the axis, the weight is gathered.
  // CHECK-LABEL: @zero
  // CHECK: stretto.einsum {{.*}}<[{dp}, {}, {}]>
  stretto.segment @zero(%x: tensor<8x64xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %w: tensor<64x64xf32> {stretto.constraint = #stretto.constraint<[{dp}p1, {?}]>}) -> tensor<8x64xf32>
      attributes {direction = "forward"} {
    %y = stretto.einsum "b k, k n -> b n" %x, %w : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    stretto.yield %y : tensor<8x64xf32>
  }
  // The other way round the batch is exchanged and the result is a sum. Factors in the order in which the operands name them: b, k, n.
  // CHECK-LABEL: @other
  // CHECK: stretto.einsum {{.*}}<[{}, {dp}, {}]>
  stretto.segment @other(%x: tensor<8x64xf32> {stretto.constraint = #stretto.constraint<[{dp}p1, {?}]>},
      %w: tensor<64x64xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>}) -> tensor<8x64xf32>
      attributes {direction = "forward"} {
    %y = stretto.einsum "b k, k n -> b n" %x, %w : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    stretto.yield %y : tensor<8x64xf32>
  }
  // A small batch and a large weight without priorities: the batch moves, the weight stays.
  // CHECK-LABEL: @small_batch
  // CHECK: stretto.einsum "b k, k n -> b n" {{.*}}<[{}, {dp}, {}]>
  // CHECK: stretto.einsum "k n, b k -> b n" {{.*}}<[{dp}, {}, {}]>
  stretto.segment @small_batch(%x: tensor<4x256xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %w: tensor<256x64xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>}) -> (tensor<4x64xf32>, tensor<4x64xf32>)
      attributes {direction = "forward"} {
    %y = stretto.einsum "b k, k n -> b n" %x, %w : tensor<4x256xf32>, tensor<256x64xf32> -> tensor<4x64xf32>
    %z = stretto.einsum "k n, b k -> b n" %w, %x : tensor<256x64xf32>, tensor<4x256xf32> -> tensor<4x64xf32>
    stretto.yield %y, %z : tensor<4x64xf32>, tensor<4x64xf32>
  }
  // A large batch and a small weight: the weight is gathered.
  // CHECK-LABEL: @large_batch
  // CHECK: stretto.einsum "b k, k n -> b n" {{.*}}<[{dp}, {}, {}]>
  // CHECK: stretto.einsum "k n, b k -> b n" {{.*}}<[{}, {}, {dp}]>
  stretto.segment @large_batch(%x: tensor<1024x256xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %w: tensor<256x64xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>}) -> (tensor<1024x64xf32>, tensor<1024x64xf32>)
      attributes {direction = "forward"} {
    %y = stretto.einsum "b k, k n -> b n" %x, %w : tensor<1024x256xf32>, tensor<256x64xf32> -> tensor<1024x64xf32>
    %z = stretto.einsum "k n, b k -> b n" %w, %x : tensor<256x64xf32>, tensor<1024x256xf32> -> tensor<1024x64xf32>
    stretto.yield %y, %z : tensor<1024x64xf32>, tensor<1024x64xf32>
  }
  // Two constraints of one class: the larger value stays, whichever argument it is.
  // CHECK-LABEL: @one_class
  // CHECK: stretto.add {{.*}}<[{}, {dp}]>
  // CHECK: stretto.add {{.*}}<[{}, {dp}]>
  stretto.segment @one_class(%b: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{tp}]>},
      %x: tensor<64x64xf32> {stretto.constraint = #stretto.constraint<[{?}, {dp}]>},
      %y: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{tp}]>}) -> tensor<64x64xf32> attributes {direction = "forward"} {
    %v = stretto.add %b, %x : tensor<64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %z = stretto.add %v, %y : tensor<64x64xf32>, tensor<64xf32> -> tensor<64x64xf32>
    stretto.yield %z : tensor<64x64xf32>
  }
  stretto.step @s(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>, %c: tensor<4x256xf32>, %d: tensor<256x64xf32>, %e: tensor<1024x256xf32>, %f: tensor<64xf32>) {
    %0 = stretto.invoke @zero(%a, %b) instance "a" : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = stretto.invoke @other(%a, %b) instance "b" : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %2:2 = stretto.invoke @small_batch(%c, %d) instance "c" : (tensor<4x256xf32>, tensor<256x64xf32>) -> (tensor<4x64xf32>, tensor<4x64xf32>)
    %3:2 = stretto.invoke @large_batch(%e, %d) instance "d" : (tensor<1024x256xf32>, tensor<256x64xf32>) -> (tensor<1024x64xf32>, tensor<1024x64xf32>)
    %4 = stretto.invoke @one_class(%f, %b, %f) instance "e" : (tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    stretto.yield
  }
}
