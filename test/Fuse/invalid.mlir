// RUN: stretto-opt %s -fuse -split-input-file -verify-diagnostics

stretto.segment @integers(%x: tensor<4x4xi32>, %y: tensor<4x4xi32>) -> tensor<4x4xi32> attributes {direction = "forward"} {
  // expected-error @below {{has operands of 'i32'; matrix products exist for f32 and bf16}}
  %z = stretto.einsum "i j, j k -> i k" %x, %y : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
  stretto.yield %z : tensor<4x4xi32>
}

// -----

stretto.segment @no_extents(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {direction = "forward"} {
  // expected-error @below {{cannot be a kernel: dropout needs extents}}
  %z = stretto.dropout %x {p = 0.5 : f64} : tensor<4x4xf32> -> tensor<4x4xf32>
  stretto.yield %z : tensor<4x4xf32>
}

// -----

stretto.segment @wide(%x: tensor<4xf64>) -> tensor<4xf64> attributes {direction = "forward"} {
  // expected-error @below {{cannot be a kernel: no scalar form of 'stretto.exp'}}
  %z = stretto.exp %x : tensor<4xf64> -> tensor<4xf64>
  stretto.yield %z : tensor<4xf64>
}

// -----

stretto.segment @steered(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{is left before fuse; run propagate, assign, plan-reshards and localize}}
  %z:2 = stretto.shard_alike(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  stretto.yield %z#0 : tensor<4xf32>
}

// -----

stretto.segment @word_of_a_step() -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{does not belong in a segment; only operations on tensors and collectives do}}
  %z = stretto.zeros : tensor<4xf32>
  stretto.yield %z : tensor<4xf32>
}
