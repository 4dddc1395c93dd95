#a = #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {dp}>
#b = #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {tp}>
stretto.segment @different_sums(%x: tensor<4xf32, #a>, %y: tensor<4xf32, #b>) -> tensor<4xf32, #a> attributes {direction = "forward"} {
  %z = stretto.add %x, %y : tensor<4xf32, #a>, tensor<4xf32, #b> -> tensor<4xf32, #a>
  stretto.yield %z : tensor<4xf32, #a>
}
