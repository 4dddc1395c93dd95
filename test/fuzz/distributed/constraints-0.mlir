stretto.segment @words(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    attributes {direction = "forward"} {
  %a = stretto.constrain %x <[{dp}, {tp:(1)2, ?}p2], replicated {cp}, partial {ep, "odd axis"}, "here"> : tensor<8x16xf32> -> tensor<8x16xf32>
  %b = stretto.constrain %y <[{}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
  %c = stretto.propagation_barrier backward %b : tensor<8x16xf32> -> tensor<8x16xf32>
  %d:2 = stretto.shard_alike(%a, %c) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  stretto.yield %d#0, %d#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
