module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.segment @s(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>)
      attributes {direction = "forward"} {
    %a = stretto.reshard %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.add %a, %x : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a, %b : tensor<8x16xf32>, tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a:2 = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    stretto.yield
  }
}
