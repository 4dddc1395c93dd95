module attributes {stretto.mesh = #stretto.mesh<tp = 3>} {
  stretto.segment @graph(%x: tensor<4x5xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "activation"})
      -> (tensor<4x5xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "activation"},
          tensor<4x5xf32> {stretto.constraint = #stretto.constraint<[{}, {tp}]>, stretto.role = "activation"},
          tensor<4xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %v = stretto.exp %x : tensor<4x5xf32> -> tensor<4x5xf32>
    %a = stretto.tanh %v : tensor<4x5xf32> -> tensor<4x5xf32>
    %b = stretto.mul %v, %x : tensor<4x5xf32>, tensor<4x5xf32> -> tensor<4x5xf32>
    %c = stretto.reduce max %v dims [1] : tensor<4x5xf32> -> tensor<4xf32>
    stretto.yield %a, %b, %c : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>
  }
}
