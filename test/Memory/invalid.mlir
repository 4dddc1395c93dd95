// RUN: stretto-opt %s -split-input-file -verify-diagnostics -lower-to-program

// What has no command, no memory or two masters is an error with a place.

stretto.segment @not_fused(%x: tensor<16xf32>) -> tensor<16xf32> attributes {direction = "forward"} {
  // expected-error @below {{is no command; the pass fuse leaves launches, gemm, attention and collectives}}
  %y = stretto.neg %x : tensor<16xf32> -> tensor<16xf32>
  stretto.yield %y : tensor<16xf32>
}

// -----

// expected-error @below {{argument 0 is bound to 'tokens'; expected param:, moment, state:, input: (with a leading dimension of micro-batches) or hyper}}
stretto.step @train(%x: tensor<2x16xf32> {stretto.binding = "tokens"}) {
  stretto.yield
}

// -----

stretto.step @train(%x: tensor<2x16xf32> {stretto.binding = "input:x"}) {
  stretto.microbatches 2 inputs(%x) carried() : (tensor<2x16xf32>) -> () {
  ^bb0(%k: tensor<16xf32>):
    %0 = stretto.zeros : tensor<2x4xf32>
    // expected-error @below {{cannot be in another micro-batch loop}}
    stretto.microbatches 2 inputs(%0) carried() : (tensor<2x4xf32>) -> () {
    ^bb0(%l: tensor<4xf32>):
      stretto.yield
    }
    stretto.yield
  }
  stretto.yield
}
