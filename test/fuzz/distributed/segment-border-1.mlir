module {
  stretto.segment @two(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
    stretto.yield %x : tensor<8xf32>
  }
  stretto.step @train(%x: tensor<8xf32> {stretto.binding = "input:x"}) -> tensor<8xf32> {
    %y:2 = stretto.invoke @two(%x) instance "n" : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    stretto.yield %y#0 : tensor<8xf32>
  }
}
