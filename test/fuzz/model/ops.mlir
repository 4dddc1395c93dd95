stretto.layer @ops(%x: tensor<2x3x4xf32> dims [batch, seq, embed], %i: tensor<2x3xi32>, params(%t: tensor<5x4xf32> dims [vocab, embed] init uniform(-0.1, 0.1), %g: tensor<4xf32> dims [embed] init constant(1.5) no_decay)) -> tensor<2x3x4xf32> {
  %c = stretto.constant 2.0 : tensor<f32>
  %0 = stretto.neg %x : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %1 = stretto.sub %0, %g : tensor<2x3x4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
  %2 = stretto.compare lt %1, %c : tensor<2x3x4xf32>, tensor<f32> -> tensor<2x3x4xi1>
  %3 = stretto.select %2, %0, %1 : tensor<2x3x4xi1>, tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %4 = stretto.convert %2 : tensor<2x3x4xi1> -> tensor<2x3x4xf32>
  %5 = stretto.softmax %3 {dim = 2} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %6 = stretto.transpose %5 perm [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %7 = stretto.broadcast %g dims [1] : tensor<4xf32> -> tensor<2x4x3xf32>
  %8 = stretto.reduce max %6 dims [0, 2] : tensor<2x4x3xf32> -> tensor<4xf32>
  %9 = stretto.embedding_grad %i, %x : tensor<2x3xi32>, tensor<2x3x4xf32> -> tensor<5x4xf32>
  %10 = stretto.mask_pad %5 {dim = 2, size = 3, value = 0.0 : f64} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %dx, %dg, %db = stretto.layer_norm_grad %x, %g, %5 {eps = 1.0e-5 : f64} : tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>
  %loss, %lse = stretto.cross_entropy %x, %i {smoothing = 0.1 : f64} : tensor<2x3x4xf32>, tensor<2x3xi32> -> tensor<2x3xf32>, tensor<2x3xf32>
  %dl = stretto.cross_entropy_grad %x, %i, %lse, %loss {vocabulary = 4, smoothing = 0.1 : f64} : tensor<2x3x4xf32>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3x4xf32>
  stretto.yield %10 : tensor<2x3x4xf32>
}
