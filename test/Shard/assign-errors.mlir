// RUN: stretto-opt %s --propagate --assign --split-input-file --verify-diagnostics
// What assign cannot make lie right, with the constraint that would.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  stretto.segment @turn(%x: tensor<8x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {}]>})
      -> (tensor<8x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>})
      attributes {direction = "forward"} {
    %y = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %y : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32> {stretto.binding = "param:x", stretto.constraint = #stretto.constraint<[{dp}, {}]>}) -> (tensor<8x16xf32> {stretto.binding = "output:y"}) {
    // expected-error@+1 {{carried value 0 changes its distribution from 8x16xf32 [{dp}, {}] to 8x16xf32 [{}, {tp}]}}
    %r = "stretto.microbatches"(%x) <{count = 2 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%c: tensor<8x16xf32>):
      // expected-note@+1 {{this would fit: result 0 of @turn with stretto.constraint = #stretto.constraint<[{dp}, {}]>, or in it a last stretto.reshard %result : [{}, {tp}] -> [{dp}, {}]}}
      %y = stretto.invoke @turn(%c) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
      stretto.yield %y : tensor<8x16xf32>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield %r : tensor<8x16xf32>
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.segment @s(%x: tensor<8xf32>) -> tensor<8xf32> attributes {direction = "forward"} {
    // expected-error@+1 {{has no sharding rule; it cannot be distributed; before assign, stretto.constrain says where a value lies}}
    %a = stretto.reshard %x : tensor<8xf32> -> tensor<8xf32>
    stretto.yield %a : tensor<8xf32>
  }
  stretto.step @t(%x: tensor<8xf32> {stretto.binding = "param:x"}) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8xf32>) -> tensor<8xf32>
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.segment @s(%x: tensor<8x4xf32> {stretto.constraint = #stretto.constraint<[{dp}]>}) -> tensor<8x4xf32> attributes {direction = "forward"} {
    stretto.yield %x : tensor<8x4xf32>
  }
  // expected-error@+1 {{constraint of rank 1 on a value of rank 2; write one {axes} or {?} per dimension}}
  stretto.step @t(%x: tensor<8x4xf32> {stretto.binding = "param:x", stretto.constraint = #stretto.constraint<[{dp}]>}) {
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.step @t(%x: tensor<8xf32> {stretto.binding = "param:x"}) {
    // expected-error@+1 {{is not allowed at step level; put it into a segment and invoke that}}
    %y = stretto.exp %x : tensor<8xf32> -> tensor<8xf32>
    stretto.yield
  }
}

// -----

// A role promises a rank.
module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  // expected-error@+1 {{result 0 is 8x4xf32 with the role "partial_scalar", which is a sum of rank 0; reduce it or give it another role}}
  stretto.segment @s(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {stretto.role = "partial_scalar"}) attributes {direction = "forward"} {
    stretto.yield %x : tensor<8x4xf32>
  }
  stretto.step @t(%x: tensor<8x4xf32> {stretto.binding = "param:x"}) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x4xf32>) -> tensor<8x4xf32>
    stretto.yield
  }
}

// -----

// No word of the dialect is in the module: the passes bring it along.
module {}
