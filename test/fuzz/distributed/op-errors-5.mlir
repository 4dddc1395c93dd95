stretto.segment @samples(%q: tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32> attributes {direction = "forward"} {
  %o, %l = stretto.attention %q, %q, %q {scale = 1.0 : f64, p = 0.1 : f64, samples = 0 : i64}
    : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  stretto.yield %o : tensor<2x3x4x8xf32>
}
