// RUN: stretto-opt %s --localize --split-input-file --verify-diagnostics
// What comes before localize must have run.

module attributes {stretto.mesh = #stretto.mesh<tp = 4>} {
  stretto.segment @bare(%x: tensor<2x11xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) attributes {direction = "forward"} {
    // expected-error@+1 {{has 2x11xf32, which has no distribution; run propagate and assign before localize}}
    %v, %i = stretto.top_k %x {dim = 1 : i64, k = 2 : i64} : tensor<2x11xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
    stretto.yield %v, %i : tensor<2x2xf32>, tensor<2x2xi32>
  }
}

// -----

#rows = #stretto.dist<mesh<tp = 4>, [{tp}]>
#whole = #stretto.dist<mesh<tp = 4>, [{}]>
module attributes {stretto.mesh = #stretto.mesh<tp = 4>} {
  stretto.segment @unplanned(%x: tensor<8xf32, #rows>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    // expected-error@+1 {{is not planned, from 8xf32 [{tp}] to 8xf32 [{}]; run plan-reshards before localize}}
    %y = stretto.reshard %x : tensor<8xf32, #rows> -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
}
