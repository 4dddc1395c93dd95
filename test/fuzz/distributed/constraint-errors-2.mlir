stretto.segment @shapes(%x: tensor<8x16xf32>, %y: tensor<16x8xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
  %a:2 = stretto.shard_alike(%x, %y) : (tensor<8x16xf32>, tensor<16x8xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>)
  stretto.yield %a#0 : tensor<8x16xf32>
}
