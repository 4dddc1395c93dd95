module attributes {fuzz.split = 1 : i64, stretto.mesh = #stretto.mesh<x = 2>} {
  stretto.segment @graph(%arg0: tensor<11xf32> {stretto.constraint = #stretto.constraint<[{x}]>, stretto.role = "activation"},
      %arg1: tensor<1x1x1xf32> {stretto.constraint = #stretto.constraint<[{}, {}, {}]>, stretto.role = "activation"},
      %arg2: tensor<11xf32> {stretto.constraint = #stretto.constraint<[{}]>, stretto.role = "activation"})
      -> (tensor<11xi1> {stretto.constraint = #stretto.constraint<[{x}]>, stretto.role = "cotangent"}, tensor<1x1x1x11xf32> {stretto.constraint = #stretto.constraint<[{}, {}, {}, {}]>, stretto.role = "activation"})
      attributes {direction = "forward"} {
    %0 = stretto.compare le %arg0, %arg0 : tensor<11xf32>, tensor<11xf32> -> tensor<11xi1>
    %1 = stretto.einsum "a b c, p -> a b c p" %arg1, %arg2 : tensor<1x1x1xf32>, tensor<11xf32> -> tensor<1x1x1x11xf32>
    stretto.yield %0, %1 : tensor<11xi1>, tensor<1x1x1x11xf32>
  }
}
