// RUN: stretto-opt %s -split-input-file --propagate --assign | FileCheck %s
// A saved value lies as forward has it anyway and as backward needs it, whichever costs least.

// A partial sum that forward scatters is saved scattered: no all-reduce of its own.
module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // CHECK-LABEL: @scattered.fwd
  // CHECK: %[[SUM:.*]] = stretto.einsum
  // CHECK-NEXT: %[[PART:.*]] = stretto.reshard %[[SUM]] {{.*}}sum {tp}>> -> tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{tp}, {}]>>
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield %{{.*}}, %[[PART]]
  stretto.segment @scattered.fwd(
      %x: tensor<4x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %w: tensor<16x8xf32> {stretto.role = "param", stretto.param = "w", stretto.constraint = #stretto.constraint<[{tp}, {}]>})
      -> (tensor<4x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
          tensor<4x8xf32> {stretto.role = "saved"}) attributes {direction = "forward"} {
    %p = stretto.einsum "s k, k e -> s e" %x, %w : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
    %y = stretto.tanh %p : tensor<4x8xf32> -> tensor<4x8xf32>
    stretto.yield %y, %p : tensor<4x8xf32>, tensor<4x8xf32>
  }
  // CHECK-LABEL: @scattered.bwd
  // CHECK-SAME: tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{tp}, {}]>> {{{.*}}stretto.role = "saved"
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.yield
  stretto.segment @scattered.bwd(
      %p: tensor<4x8xf32> {stretto.role = "saved"},
      %dy: tensor<4x8xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{tp}, {}]>})
      -> (tensor<4x8xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{tp}, {}]>})
      attributes {direction = "backward"} {
    %d = stretto.mul %dy, %p : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    stretto.yield %d : tensor<4x8xf32>
  }
  stretto.step @train(%w: tensor<16x8xf32> {stretto.binding = "param:w"}, %x: tensor<1x4x16xf32> {stretto.binding = "input:x"}) {
    stretto.microbatches 1 inputs(%x) carried() : (tensor<1x4x16xf32>) -> () {
    ^bb0(%xk: tensor<4x16xf32>):
      %y, %p = stretto.invoke @scattered.fwd(%xk, %w) instance "a" : (tensor<4x16xf32>, tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
      %d = stretto.invoke @scattered.bwd(%p, %y) instance "a" : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      stretto.yield
    }
    stretto.yield
  }
}

// -----

// Backward needs it whole and in shards: the gathered copy is saved, a slice costs nothing. Two instances share the
// segments, and both change.
module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // CHECK-LABEL: @both.fwd
  // CHECK: stretto.saved_copy = {held = 64 : i64, kept = true, sent = 64 : i64, value = "tanh result"}
  // CHECK: %[[N:.*]] = stretto.tanh
  // CHECK-NEXT: %[[WHOLE:.*]] = stretto.reshard %[[N]]
  // CHECK: stretto.yield %{{.*}}, %[[WHOLE]]
  stretto.segment @both.fwd(
      %x: tensor<4x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
      %w: tensor<8x16xf32> {stretto.role = "param", stretto.param = "w", stretto.constraint = #stretto.constraint<[{}, {tp}]>})
      -> (tensor<4x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
          tensor<4x8xf32> {stretto.role = "saved"}) attributes {direction = "forward"} {
    %n = stretto.tanh %x : tensor<4x8xf32> -> tensor<4x8xf32>
    %y = stretto.einsum "s e, e f -> s f" %n, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
    stretto.yield %y, %n : tensor<4x16xf32>, tensor<4x8xf32>
  }
  // CHECK-LABEL: @both.bwd
  // CHECK-SAME: %[[SAVED:.*]]: tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>> {{{.*}}stretto.role = "saved"
  // CHECK: stretto.einsum "s e, s f -> e f" %[[SAVED]]
  // CHECK: %[[SHARD:.*]] = stretto.reshard %[[SAVED]] {cause = "saved as forward used it"}
  // CHECK-NEXT: stretto.mul %{{.*}}, %[[SHARD]]
  stretto.segment @both.bwd(
      %n: tensor<4x8xf32> {stretto.role = "saved"},
      %w: tensor<8x16xf32> {stretto.role = "param", stretto.param = "w", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %dy: tensor<4x16xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %aw: tensor<8x16xf32> {stretto.role = "accumulator", stretto.param = "w"})
      -> (tensor<4x8xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
          tensor<8x16xf32> {stretto.role = "accumulator", stretto.alias = 3 : i64}) attributes {direction = "backward"} {
    %dw = stretto.einsum "s e, s f -> e f" %n, %dy : tensor<4x8xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
    %dn = stretto.einsum "s f, e f -> s e" %dy, %w : tensor<4x16xf32>, tensor<8x16xf32> -> tensor<4x8xf32>
    %dx = stretto.mul %dn, %n : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    %nw = stretto.add %aw, %dw : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %dx, %nw : tensor<4x8xf32>, tensor<8x16xf32>
  }
  // CHECK-LABEL: @train
  // CHECK-COUNT-2: invoke @both.fwd{{.*}}tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>)
  // CHECK-COUNT-2: invoke @both.bwd
  stretto.step @train(%w: tensor<8x16xf32> {stretto.binding = "param:w"}, %x: tensor<1x4x8xf32> {stretto.binding = "input:x"})
      -> (tensor<8x16xf32> {stretto.binding = "grad:w"}) {
    %z = stretto.zeros : tensor<8x16xf32>
    %g = stretto.microbatches 1 inputs(%x) carried(%z) : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
    ^bb0(%xk: tensor<4x8xf32>, %c: tensor<8x16xf32>):
      %y1, %n1 = stretto.invoke @both.fwd(%xk, %w) instance "a" : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x8xf32>)
      %y2, %n2 = stretto.invoke @both.fwd(%xk, %w) instance "b" : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<4x8xf32>)
      %d1, %c1 = stretto.invoke @both.bwd(%n1, %w, %y1, %c) instance "a" : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>)
      %d2, %c2 = stretto.invoke @both.bwd(%n2, %w, %y2, %c1) instance "b" : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>)
      stretto.yield %c2 : tensor<8x16xf32>
    }
    stretto.yield %g : tensor<8x16xf32>
  }
}

// -----

// What forward takes is not saved but passed again: where forward gathers it and backward would, it is saved gathered. The
// residual still has it as it lies.
module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  // CHECK-LABEL: @argument.fwd
  // CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{tp}, {}]>>
  // CHECK: tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>> {stretto.role = "saved", stretto.saved_copy = {held = 128 : i64, kept = true, sent = 64 : i64, value = "an argument"}})
  // CHECK: %[[WHOLE:.*]] = stretto.reshard %[[X]]
  // CHECK: stretto.yield %{{.*}}, %[[WHOLE]]
  stretto.segment @argument.fwd(
      %x: tensor<4x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
      %w: tensor<8x16xf32> {stretto.role = "param", stretto.param = "w", stretto.constraint = #stretto.constraint<[{}, {tp}]>})
      -> (tensor<4x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>})
      attributes {direction = "forward"} {
    %y = stretto.einsum "s e, e f -> s f" %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
    stretto.yield %y : tensor<4x16xf32>
  }
  // CHECK-LABEL: @argument.bwd
  // CHECK-SAME: %[[SAVED:.*]]: tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>> {{{.*}}stretto.role = "saved"
  // CHECK-NOT: stretto.reshard
  // CHECK: stretto.einsum "s e, s f -> e f" %[[SAVED]]
  stretto.segment @argument.bwd(
      %x: tensor<4x8xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
      %dy: tensor<4x16xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{}, {tp}]>},
      %aw: tensor<8x16xf32> {stretto.role = "accumulator", stretto.param = "w"})
      -> (tensor<8x16xf32> {stretto.role = "accumulator", stretto.alias = 2 : i64}) attributes {direction = "backward"} {
    %dw = stretto.einsum "s e, s f -> e f" %x, %dy : tensor<4x8xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
    %nw = stretto.add %aw, %dw : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %nw : tensor<8x16xf32>
  }
  // CHECK-LABEL: @train
  // CHECK: %[[A:.*]]:2 = stretto.invoke @argument.fwd
  // CHECK: %[[B:.*]]:2 = stretto.invoke @argument.fwd
  // CHECK: stretto.invoke @argument.bwd(%[[B]]#1, %[[B]]#0
  // CHECK: stretto.invoke @argument.bwd(%[[A]]#1, %[[A]]#0
  stretto.step @train(%w: tensor<8x16xf32> {stretto.binding = "param:w"}, %x: tensor<1x4x8xf32> {stretto.binding = "input:x"})
      -> (tensor<8x16xf32> {stretto.binding = "grad:w"}) {
    %z = stretto.zeros : tensor<8x16xf32>
    %g = stretto.microbatches 1 inputs(%x) carried(%z) : (tensor<1x4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
    ^bb0(%xk: tensor<4x8xf32>, %c: tensor<8x16xf32>):
      %y1 = stretto.invoke @argument.fwd(%xk, %w) instance "a" : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %y2 = stretto.invoke @argument.fwd(%xk, %w) instance "b" : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %c1 = stretto.invoke @argument.bwd(%xk, %y2, %c) instance "b" : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
      %c2 = stretto.invoke @argument.bwd(%xk, %y1, %c1) instance "a" : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
      stretto.yield %c2 : tensor<8x16xf32>
    }
    stretto.yield %g : tensor<8x16xf32>
  }
}
