#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @first_of_shards(%x: tensor<4x8xf32, #rows>) -> tensor<4x8xf32, #sum> attributes {direction = "forward"} {
  %y = stretto.keep_first %x {group = #group} : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #sum>
  stretto.yield %y : tensor<4x8xf32, #sum>
}
