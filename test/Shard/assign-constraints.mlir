// RUN: stretto-opt %s --propagate --assign | FileCheck %s
// What `assign` makes of constraints, barriers and values that lie alike: types, with a reshard where one must change.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  // Closed means closed: the constrained value is whole in both dimensions although its operand is not and its user would
  // take it sharded. Then the operation that steers is gone.
  // CHECK-LABEL: @closed
  // CHECK: %[[A:.*]] = stretto.exp
  // CHECK: %[[B:.*]] = stretto.reshard %[[A]] {{.*}}[{tp}, {}]>> -> tensor<8x16xf32, {{.*}}[{}, {}]>>
  // CHECK-NEXT: stretto.neg %[[B]]
  // CHECK-NOT: stretto.constrain
  stretto.segment @closed(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{}, {}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.neg %b : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %c : tensor<8x16xf32>
  }
  // Open dimensions go on as the operand lies: nothing moves.
  // CHECK-LABEL: @open
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield
  stretto.segment @open(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{?}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.neg %b : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %c : tensor<8x16xf32>
  }
  // Open but for one axis.
  // CHECK-LABEL: @replicated
  // CHECK: stretto.reshard {{.*}}[{tp}, {dp}]>> -> tensor<8x16xf32, {{.*}}[{}, {dp}]>>
  // CHECK-NEXT: stretto.yield
  stretto.segment @replicated(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {dp}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %b = stretto.constrain %x <[{?}, {?}], replicated {tp}> : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b : tensor<8x16xf32>
  }
  // What nobody asks for behind a barrier is whole; with `forward` it goes on as it is.
  // CHECK-LABEL: @barrier
  // CHECK: stretto.reshard {{.*}}[{tp}, {}]>> -> tensor<8x16xf32, {{.*}}[{}, {}]>>
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield
  stretto.segment @barrier(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      -> (tensor<8x16xf32>, tensor<8x16xf32>) attributes {direction = "forward"} {
    %a = stretto.propagation_barrier none %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.propagation_barrier forward %x : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a, %b : tensor<8x16xf32>, tensor<8x16xf32>
  }
  // A whole value that lies alike with a sharded one is sliced.
  // CHECK-LABEL: @alike
  // CHECK: stretto.reshard {{.*}}[{}, {}]>> -> tensor<8x16xf32, {{.*}}[{tp}, {}]>>
  // CHECK-NOT: stretto.shard_alike
  stretto.segment @alike(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %y: tensor<8x16xf32> {stretto.role = "param"}) -> (tensor<8x16xf32>, tensor<8x16xf32>) attributes {direction = "forward"} {
    %a:2 = stretto.shard_alike(%x, %y) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    stretto.yield %a#0, %a#1 : tensor<8x16xf32>, tensor<8x16xf32>
  }
  // An activation comes as its producer left it; a closed dimension is obeyed once, before the first use. An open dimension
  // of a result keeps the axes it has, a sum that may stay partial stays one.
  // CHECK-LABEL: @producer
  // CHECK: stretto.yield %{{.*}} : tensor<8x16xf32, {{.*}}[{dp}, {tp}]>>
  stretto.segment @producer(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{dp}, {tp}]>})
      -> (tensor<8x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>}) attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  // CHECK-LABEL: @enters
  // CHECK-SAME: tensor<8x16xf32, {{.*}}[{dp}, {tp}]>>
  // CHECK-NEXT: %[[R:.*]] = stretto.reshard %arg0 {{.*}} -> tensor<8x16xf32, {{.*}}[{dp}, {}]>>
  // CHECK-NEXT: stretto.exp %[[R]]
  // CHECK-NEXT: stretto.neg %[[R]]
  stretto.segment @enters(%x: tensor<8x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{?}, {}]>})
      -> (tensor<8x16xf32>, tensor<8x16xf32>) attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.neg %x : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a, %b : tensor<8x16xf32>, tensor<8x16xf32>
  }
  // CHECK-LABEL: @stays_partial
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield %{{.*}} : tensor<8x8xf32, {{.*}}sum {tp}>>
  stretto.segment @stays_partial(%x: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{dp}, {tp}]>},
      %w: tensor<8x16xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{?}, {tp}]>})
      -> (tensor<8x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}], partial {tp}>}) attributes {direction = "forward"} {
    %a = stretto.einsum "m k, n k -> m n" %x, %w : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x8xf32>
    stretto.yield %a : tensor<8x8xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32> {stretto.binding = "param:x"}, %y: tensor<8x16xf32> {stretto.binding = "param:y"},
      %z: tensor<8x16xf32> {stretto.binding = "param:z"}, %u: tensor<8x16xf32> {stretto.binding = "param:u"},
      %w: tensor<8x16xf32> {stretto.binding = "param:w"}) {
    %a = stretto.invoke @closed(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %b = stretto.invoke @open(%x) instance "b" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = stretto.invoke @replicated(%z) instance "c" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %d:2 = stretto.invoke @barrier(%x) instance "d" : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %e:2 = stretto.invoke @alike(%x, %y) instance "e" : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %p = stretto.invoke @producer(%u) instance "p" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %q:2 = stretto.invoke @enters(%p) instance "q" : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %r = stretto.invoke @stays_partial(%u, %w) instance "r" : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
    stretto.yield
  }
}
