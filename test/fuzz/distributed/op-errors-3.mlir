stretto.segment @heads_of_the_adjoint(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>, %l: tensor<2x4x3xf32>) -> tensor<2x3x4x8xf32>
    attributes {direction = "backward"} {
  %dq, %dk, %dv = stretto.attention_grad %q, %k, %k, %q, %l, %q {scale = 1.0 : f64}
    : tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>, tensor<2x3x4x8xf32>
    -> tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>
  stretto.yield %dq : tensor<2x3x4x8xf32>
}
