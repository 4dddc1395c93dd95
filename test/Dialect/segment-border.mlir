// RUN: stretto-opt %s -split-input-file -verify-diagnostics
// A partial sum does not leave a segment that promises the whole value.

#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  stretto.segment @norm(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    // expected-error @below {{yields 'tensor<8xf32, #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>>' as result 0, but @norm returns 'tensor<8xf32, #stretto.dist<mesh<tp = 2>, [{}]>>'}}
    stretto.yield %x : tensor<8xf32, #partial>
  }
  stretto.step @train(%x: tensor<8xf32, #partial> {stretto.binding = "input:x"}) -> tensor<8xf32, #whole> {
    %y = stretto.invoke @norm(%x) instance "n" : (tensor<8xf32, #partial>) -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
}

// -----

module {
  stretto.segment @two(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
    // expected-error @below {{yields 1 values, expected 2}}
    stretto.yield %x : tensor<8xf32>
  }
  stretto.step @train(%x: tensor<8xf32> {stretto.binding = "input:x"}) -> tensor<8xf32> {
    %y:2 = stretto.invoke @two(%x) instance "n" : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    stretto.yield %y#0 : tensor<8xf32>
  }
}
