module attributes {stretto.mesh = #stretto.mesh<x = 6>} {
  stretto.segment @graph(%arg0: tensor<2x2xf32> {stretto.constraint = #stretto.constraint<[{x:(3)2}, {}]>, stretto.role = "activation"}, %arg1: tensor<1xi32> {fuzz.bound = 2 : i64, stretto.constraint = #stretto.constraint<[{}]>, stretto.role = "activation"}) -> (tensor<1x2xf32> {stretto.constraint = #stretto.constraint<[{}, {x}]>, stretto.role = "activation"}) attributes {direction = "forward"} {
    %0 = stretto.embedding %arg0, %arg1 : tensor<2x2xf32>, tensor<1xi32> -> tensor<1x2xf32>
    stretto.yield %0 : tensor<1x2xf32>
  }
}
