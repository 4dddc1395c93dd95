stretto.segment @f(%w: tensor<4xf32>, %b: tensor<2xf32>, %y: tensor<2xf32>, %x: tensor<4xf32>)
    -> (tensor<2xf32>, tensor<4xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %v = stretto.zeros : tensor<8xf32>
  stretto.yield %y, %x, %v : tensor<2xf32>, tensor<4xf32>, tensor<8xf32>
}
stretto.segment @g(%w: tensor<4xf32>, %v: tensor<8xf32>, %b: tensor<2xf32>, %u: tensor<8xf32>)
    -> (tensor<4xf32>) attributes {direction = "forward"} {
  stretto.yield %w : tensor<4xf32>
}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>
      {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}, {name = "v"}, {name = "b", stretto.no_decay}]>})
    -> (tensor<4xf32> {stretto.binding = "output:y"}) {
  %z = stretto.zeros : tuple<tensor<2xf32>, tensor<4xf32>>
  %b:2 = stretto.invoke @f(%p[0, 2], %z) instance "l"
    : (tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>, tuple<tensor<2xf32>, tensor<4xf32>>)
    -> (tuple<tensor<2xf32>, tensor<4xf32>>, tensor<8xf32>)
  %y = stretto.invoke @g(%p, %b#1) instance "l"
    : (tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>, tensor<8xf32>) -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}
