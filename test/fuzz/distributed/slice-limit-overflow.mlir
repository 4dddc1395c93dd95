module attributes {stretto.mesh = #stretto.mesh<x2xf32 = 6>} {
  stretto.segment @graph(%x: tensor<11x2xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "activation"})
      -> (tensor<4x2xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "cotangent"},
          tensor<19x2xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "cotangent"},
          tensor<4x2xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "cotangent"},
          tensor<23x2xf32> {stretto.constraint = #stretto.constraint<[{tp}, {}]>, stretto.role = "cotangent"})
      attributes {direction = "forward"} {
    %e = stretto.exp %x : tensor<11x2xf32> -> tensor<11x2xf32>
    %s = stretto.slice %e dims [0] starts [7] limits [11] strides [9223372036854775807] : tensor<11x2xf32> -> tensor<4x2xf32>
    %p = stretto.pad %e with 2.5 dims [0] low [5] high [3] interior [0] : tensor<11x2xf32> -> tensor<19x2xf32>
    %t = stretto.slice %x dims [0] starts [0] limits [10] strides [3] : tensor<11x2xf32> -> tensor<4x2xf32>
    %i = stretto.pad %x with -1.0 dims [0] low [-1] high [3] interior [1] : tensor<11x2xf32> -> tensor<23x2xf32>
    stretto.yield %s, %p, %t, %i : tensor<4x2xf32>, tensor<19x2xf32>, tensor<4x2xf32>, tensor<23x2xf32>
  }
}
