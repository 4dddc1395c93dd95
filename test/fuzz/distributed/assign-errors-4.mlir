module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.segment @s(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {stretto.role = "partial_scalar"}) attributes {direction = "forward"} {
    stretto.yield %x : tensor<8x4xf32>
  }
  stretto.step @t(%x: tensor<8x4xf32> {stretto.binding = "param:x"}) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x4xf32>) -> tensor<8x4xf32>
    stretto.yield
  }
}
