module attributes {stretto.mesh = #stretto.mesh<x = 6>} {
  stretto.segment @graph(%arg0: tensor<2x1x6x1xf32> {stretto.constraint = #stretto.constraint<[{}, {}, {}, {}]>, stretto.role = "activation"}, %arg1: tensor<2x1x2x1xf32> {stretto.constraint = #stretto.constraint<[{x}, {}, {}, {}]>, stretto.role = "activation"}) -> (tensor<2x1x6x1xf32> {stretto.constraint = #stretto.constraint<[{}, {}, {x}, {}]>, stretto.role = "activation"}) attributes {direction = "forward"} {
    %out, %lse = stretto.attention %arg0, %arg1, %arg1 {causal, scale = 2.500000e-01 : f64} : tensor<2x1x6x1xf32>, tensor<2x1x2x1xf32>, tensor<2x1x2x1xf32> -> tensor<2x1x6x1xf32>, tensor<2x6x1xf32>
    stretto.yield %out : tensor<2x1x6x1xf32>
  }
}
