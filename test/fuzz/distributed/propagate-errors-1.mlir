module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 4>} {
  stretto.segment @s(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
    %a = stretto.constrain %x <[{?}, {tp:(1)3}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}
