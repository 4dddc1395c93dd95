stretto.segment @rank(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
  %a = stretto.constrain %x <[{dp}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  stretto.yield %a : tensor<8x16xf32>
}
