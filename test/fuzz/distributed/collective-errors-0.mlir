#sum = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {}], sum {dp, tp}>
#left = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {}], sum {dp}>
#whole = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {}]>
#group = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>
stretto.segment @an_axis_is_left(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #whole> attributes {direction = "forward"} {
  %y = stretto.all_reduce %x {group = #group, kind = #stretto<reduce_kind sum>} : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #whole>
  stretto.yield %y : tensor<4x8xf32, #whole>
}
