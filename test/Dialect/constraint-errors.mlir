// RUN: stretto-opt %s -verify-diagnostics -split-input-file
// What constraints and the operations that steer propagation refuse, with the change that makes them right.

stretto.segment @rank(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
  // expected-error@+1 {{constraint has 1 dimensions, the value has 2; write one {axes} or {?} per dimension}}
  %a = stretto.constrain %x <[{dp}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  stretto.yield %a : tensor<8x16xf32>
}

// -----

stretto.segment @one(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
  // expected-error@+1 {{needs two values or more, got 1}}
  %a = stretto.shard_alike(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  stretto.yield %a : tensor<8x16xf32>
}

// -----

stretto.segment @shapes(%x: tensor<8x16xf32>, %y: tensor<16x8xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
  // expected-error@+1 {{value 1 is 'tensor<16x8xf32>', value 0 is 'tensor<8x16xf32>'; values that lie alike have one shape}}
  %a:2 = stretto.shard_alike(%x, %y) : (tensor<8x16xf32>, tensor<16x8xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>)
  stretto.yield %a#0 : tensor<8x16xf32>
}

// -----

// expected-error@+1 {{axis 'tp' shards a dimension and is replicated; take it out of one of the two}}
module attributes {x = #stretto.constraint<[{tp}], replicated {tp}>} {}

// -----

// expected-error@+1 {{axis 'tp' shards a dimension and is partial; take it out of one of the two}}
module attributes {x = #stretto.constraint<[{tp}], partial {tp}>} {}

// -----

// expected-error@+1 {{dimension 1 names axis 'tp' twice}}
module attributes {x = #stretto.constraint<[{tp}, {tp, tp}]>} {}

// -----

// expected-error@+1 {{expected a priority such as p1}}
module attributes {x = #stretto.constraint<[{tp}q1]>} {}

// -----

// expected-error@+1 {{expected replicated {...}, partial {...} or the cause in quotes}}
module attributes {x = #stretto.constraint<[{tp}], whole {dp}>} {}
