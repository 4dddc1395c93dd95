module attributes {stretto.mesh = #stretto.mesh<dp = 4>} {
  stretto.segment @l.fwd(%x: tensor<2x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %w: tensor<4x8xf32> {stretto.role = "param", stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">})
      -> (tensor<2x8xf32> {stretto.role = "activation"}) attributes {direction = "forward"} {
    %y = stretto.einsum "b i, i o -> b o" %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
    stretto.yield %y : tensor<2x8xf32>
  }
  stretto.segment @l.bwd(%x: tensor<2x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %dy: tensor<2x8xf32> {stretto.role = "cotangent", stretto.constraint = #stretto.constraint<[{dp}, {?}]>},
      %sum: tensor<4x8xf32> {stretto.role = "accumulator", stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">})
      -> (tensor<4x8xf32> {stretto.role = "accumulator", stretto.alias = 2 : i64, stretto.rest = #stretto.constraint<[{}, {dp}], "zero: 3">}) attributes {direction = "backward"} {
    %g = stretto.einsum "b i, b o -> i o" %x, %dy : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<4x8xf32>
    %s = stretto.add %sum, %g : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
    stretto.yield %s : tensor<4x8xf32>
  }
  stretto.step @train(%w: tensor<4x8xf32> {stretto.binding = "param:w", stretto.constraint = #stretto.constraint<[{}, {dp}]>},
      %x: tensor<1x2x4xf32> {stretto.binding = "input:x"}) -> (tensor<4x8xf32> {stretto.binding = "grad:w"}) {
    %zero = stretto.zeros : tensor<4x8xf32>
    %g = stretto.microbatches 1 inputs(%x) carried(%zero) : (tensor<1x2x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    ^bb0(%xk: tensor<2x4xf32>, %acc: tensor<4x8xf32>):
      %y = stretto.invoke @l.fwd(%xk, %w) instance "l" : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
      %s = stretto.invoke @l.bwd(%xk, %y, %acc) instance "l" : (tensor<2x4xf32>, tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
      stretto.yield %s : tensor<4x8xf32>
    }
    stretto.yield %g : tensor<4x8xf32>
  }
}
