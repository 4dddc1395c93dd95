#two = #stretto.dist<mesh<dp = 36>, [{dp:(1)2}, {}], padded [10, 0]>
#three = #stretto.dist<mesh<dp = 36>, [{dp:(1)3}, {dp:(9)4}]>
stretto.segment @halves_to_thirds(%x: tensor<9x4xf32, #two>) -> tensor<9x4xf32, #three> attributes {direction = "forward"} {
  %y = stretto.reshard %x : tensor<9x4xf32, #two> -> tensor<9x4xf32, #three>
  stretto.yield %y : tensor<9x4xf32, #three>
}

#sum = #stretto.dist<mesh<dp = 24>, [{}], sum {dp:(3)2}>
#shard = #stretto.dist<mesh<dp = 24>, [{dp:(4)2}]>
stretto.segment @sum_to_shard(%x: tensor<4xf32, #sum>) -> tensor<4xf32, #shard> attributes {direction = "forward"} {
  %y = stretto.reshard %x : tensor<4xf32, #sum> -> tensor<4xf32, #shard>
  stretto.yield %y : tensor<4xf32, #shard>
}
