stretto.segment @f(%w: tensor<4xf32>) -> (tensor<4xf32>) attributes {direction = "forward"} {
  stretto.yield %w : tensor<4xf32>
}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>>
      {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}, {name = "v"}]>}) {
  %y = stretto.invoke @f(%p[2]) instance "l" : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<4xf32>
  stretto.yield
}
