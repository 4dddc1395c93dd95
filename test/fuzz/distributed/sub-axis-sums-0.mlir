module attributes {stretto.mesh = #stretto.mesh<tp = 4>} {
  stretto.segment @w.reduce(
      %a: tensor<2x8xf32> {stretto.role = "accumulator"}, %norm: tensor<f32> {stretto.role = "partial_scalar"})
      -> (tensor<2x8xf32> {stretto.role = "grad"}, tensor<f32> {stretto.role = "partial_scalar"})
      attributes {direction = "reduce"} {
    %sq = stretto.mul %a, %a : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
    %s = stretto.reduce sum %sq dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %n = stretto.add %norm, %s : tensor<f32>, tensor<f32> -> tensor<f32>
    stretto.yield %a, %n : tensor<2x8xf32>, tensor<f32>
  }
  stretto.segment @w.bwd(
      %w: tensor<2x8xf32> {stretto.role = "param", stretto.constraint = #stretto.constraint<[{tp}, {}]>},
      %a: tensor<2x8xf32> {stretto.role = "accumulator"})
      -> (tensor<2x8xf32> {stretto.role = "accumulator", stretto.alias = 1 : i64})
      attributes {direction = "backward"} {
    %n = stretto.add %a, %w : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
    stretto.yield %n : tensor<2x8xf32>
  }
  stretto.step @train(%w: tensor<2x8xf32> {stretto.binding = "param:w"})
      -> (tensor<2x8xf32> {stretto.binding = "grad:w"}) {
    %zw = stretto.zeros : tensor<2x8xf32>
    %zn = stretto.zeros : tensor<f32>
    %a = stretto.invoke @w.bwd(%w, %zw) instance "w" : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %g, %n = stretto.invoke @w.reduce(%a, %zn) instance "w" : (tensor<2x8xf32>, tensor<f32>) -> (tensor<2x8xf32>, tensor<f32>)
    stretto.yield %g : tensor<2x8xf32>
  }
}
