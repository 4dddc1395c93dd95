module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
stretto.segment @l.reduce(%acc: tensor<8x4xf32> {stretto.role = "accumulator"}, %n: tensor<f32> {stretto.role = "partial_scalar"})
    -> (tensor<8x4xf32> {stretto.role = "grad"}, tensor<f32> {stretto.role = "partial_scalar"})
    attributes {direction = "reduce"} {
  stretto.yield %acc, %n : tensor<8x4xf32>, tensor<f32>
}
stretto.step @train(%a: tensor<8x4xf32> {stretto.binding = "param:a.w", stretto.constraint = #stretto.constraint<[{dp}, {}]>},
    %b: tensor<8x4xf32> {stretto.binding = "param:b.w"},
    %c: tensor<8x4xf32> {stretto.binding = "param:c.w", stretto.constraint = #stretto.constraint<[{dp}, {}]>})
    -> (tensor<8x4xf32> {stretto.binding = "grad:a.w"}, tensor<8x4xf32> {stretto.binding = "grad:b.w"},
        tensor<8x4xf32> {stretto.binding = "grad:c.w"}, tensor<f32> {stretto.binding = "output:n"}) {
  %n = stretto.zeros : tensor<f32>
  %za = stretto.zeros : tensor<8x4xf32>
  %zb = stretto.zeros : tensor<8x4xf32>
  %zc = stretto.zeros : tensor<8x4xf32>
  %ga, %na = stretto.invoke @l.reduce(%za, %n) instance "a" : (tensor<8x4xf32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<f32>)
  %gb, %nb = stretto.invoke @l.reduce(%zb, %na) instance "b" : (tensor<8x4xf32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<f32>)
  %gc, %nc = stretto.invoke @l.reduce(%zc, %nb) instance "c" : (tensor<8x4xf32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<f32>)
  stretto.yield %ga, %gb, %gc, %nc : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>
}
}
