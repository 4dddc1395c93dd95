// RUN: stretto-opt %s --propagate --split-input-file | FileCheck %s
// What a dimension is asked to lie on, and what each operation's factors get of it.

// A wish passes elementwise operations by itself, backward and forward.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  // CHECK-LABEL: @passes
  // CHECK: stretto.exp {{.*}}<[{dp}, {}], "batch: dp at plan.yaml:3:1">
  // CHECK: stretto.neg {{.*}}<[{dp}, {}], "batch: dp at plan.yaml:3:1">
  stretto.segment @passes(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}], "batch: dp at plan.yaml:3:1">})
      -> tensor<8x16xf32> attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.neg %a : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b : tensor<8x16xf32>
  }
  // CHECK-LABEL: @backward
  // CHECK: stretto.exp {{.*}}<[{}, {tp}]>
  stretto.segment @backward(%x: tensor<8x16xf32>)
      -> (tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{?}, {tp}]>}) attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @passes(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %b = stretto.invoke @backward(%x) instance "b" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

// The lower priority number wins, whichever argument comes first; what an open dimension wants is completed by a later
// wish, what a closed one wants is not.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, cp = 2, tp = 2>} {
  // CHECK-LABEL: @priorities
  // CHECK: stretto.add {{.*}}<[{dp}p1, {}]>
  stretto.segment @priorities(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}p2, {?}]>},
      %y: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp}p1, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.add %x, %y : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  // CHECK-LABEL: @open
  // CHECK: stretto.add {{.*}}<[{dp, cp}, {}]>
  stretto.segment @open(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp, ?}, {?}]>},
      %y: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{cp}p1, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.add %x, %y : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  // CHECK-LABEL: @closed
  // CHECK: stretto.add {{.*}}<[{dp}, {}]>
  stretto.segment @closed(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %y: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{cp}p1, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.add %x, %y : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @priorities(%x, %x) instance "a" : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %b = stretto.invoke @open(%x, %x) instance "b" : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = stretto.invoke @closed(%x, %x) instance "c" : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

// Through a contraction a wish is an offer: it is taken when every contraction over the dimension makes the same. One use
// of two does not push a value; and closed dimensions and axes that must not shard the value take none.

module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // CHECK-LABEL: @one_use
  // CHECK: stretto.exp {{.*}}<[{}, {tp}]>
  // CHECK: stretto.einsum
  stretto.segment @one_use(%x: tensor<8x16xf32>, %w: tensor<16x4xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      -> tensor<8x4xf32> attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m k, k n -> m n" %a, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %b : tensor<8x4xf32>
  }
  // CHECK-LABEL: @two_uses
  // CHECK: stretto.exp %arg0 : tensor
  // CHECK: stretto.einsum {{.*}}<[{}, {tp}, {}]>
  // CHECK: stretto.einsum "m k, k n -> m n" %{{.*}}, %{{.*}} : tensor
  stretto.segment @two_uses(%x: tensor<8x16xf32>, %w: tensor<16x4xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %v: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m k, k n -> m n" %a, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    %c = stretto.einsum "m k, k n -> m n" %a, %v : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %b, %c : tensor<8x4xf32>, tensor<8x4xf32>
  }
  // CHECK-LABEL: @takes_none
  // CHECK: stretto.exp %arg0 : tensor
  // CHECK: stretto.exp %arg1 : tensor
  stretto.segment @takes_none(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{?}, {}]>},
      %y: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{?}, {?}], replicated {tp}>},
      %w: tensor<16x4xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>)
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.exp %y : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.einsum "m k, k n -> m n" %a, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    %d = stretto.einsum "m k, k n -> m n" %b, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %c, %d : tensor<8x4xf32>, tensor<8x4xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
    %a = stretto.invoke @one_use(%x, %w) instance "a" : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %b:2 = stretto.invoke @two_uses(%x, %w, %w) instance "b" : (tensor<8x16xf32>, tensor<16x4xf32>, tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    %c:2 = stretto.invoke @takes_none(%x, %x, %w) instance "c" : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    stretto.yield
  }
}

// -----

// A constraint cuts: what comes before goes on as it was asked to, and is offered the constraint only where nobody asked.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  // CHECK-LABEL: @cut
  // CHECK: stretto.exp {{.*}}<[{tp}, {}]>
  // CHECK: stretto.constrain {{.*}} {stretto.factors = #stretto.constraint<[{dp}, {}]>}
  // CHECK: stretto.neg {{.*}}<[{dp}, {}]>
  stretto.segment @cut(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{dp}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.neg %b : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %c : tensor<8x16xf32>
  }
  // CHECK-LABEL: @offer
  // CHECK: stretto.exp {{.*}}<[{dp}, {}]>
  stretto.segment @offer(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{dp}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b : tensor<8x16xf32>
  }
  // CHECK-LABEL: @whole
  // CHECK: stretto.exp {{.*}}<[{tp}, {}]>
  // CHECK: stretto.constrain %{{[0-9]+}} <[{}, {?}]> : tensor
  // CHECK: stretto.neg %{{[0-9]+}} : tensor
  stretto.segment @whole(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.neg %b : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %c : tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @cut(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %b = stretto.invoke @offer(%x) instance "b" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = stretto.invoke @whole(%x) instance "c" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

// Barriers let wishes through in the one direction that they name.

module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // CHECK-LABEL: @barriers
  // CHECK: stretto.propagation_barrier none %arg0 : tensor
  // CHECK: stretto.neg %{{[0-9]+}} : tensor
  // CHECK: stretto.propagation_barrier backward %arg0 : tensor
  // CHECK: stretto.neg %{{[0-9]+}} : tensor
  // CHECK: stretto.propagation_barrier forward %arg0 {{.*}}<[{tp}, {}]>
  // CHECK: stretto.neg {{.*}}<[{tp}, {}]>
  stretto.segment @barriers(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) attributes {direction = "forward"} {
    %a = stretto.propagation_barrier none %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.neg %a : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.propagation_barrier backward %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %d = stretto.neg %c : tensor<8x16xf32> -> tensor<8x16xf32>
    %e = stretto.propagation_barrier forward %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %f = stretto.neg %e : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b, %d, %f : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  // CHECK-LABEL: @backward
  // CHECK: stretto.neg {{.*}}<[{tp}, {}]>
  stretto.segment @backward(%x: tensor<8x16xf32>) -> (tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      attributes {direction = "forward"} {
    %a = stretto.neg %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.propagation_barrier backward %a : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b : tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>) {
    %a:3 = stretto.invoke @barriers(%x) instance "a" : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %b = stretto.invoke @backward(%x) instance "b" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

// Values that lie alike share their wishes although nothing else ties them; sub-axes are axes.

module attributes {stretto.mesh = #stretto.mesh<tp = 4>} {
  // CHECK-LABEL: @alike
  // CHECK: stretto.exp {{.*}}<[{tp:(1)2}, {}]>
  // CHECK: stretto.neg {{.*}}<[{tp:(1)2}, {}]>
  stretto.segment @alike(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp:(1)2}, {?}]>}, %y: tensor<8x16xf32>)
      -> (tensor<8x16xf32>, tensor<8x16xf32>) attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.neg %y : tensor<8x16xf32> -> tensor<8x16xf32>
    %c:2 = stretto.shard_alike(%a, %b) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    stretto.yield %c#0, %c#1 : tensor<8x16xf32>, tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>) {
    %a:2 = stretto.invoke @alike(%x, %x) instance "a" : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    stretto.yield
  }
}
