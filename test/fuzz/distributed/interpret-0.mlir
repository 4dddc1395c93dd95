module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {

stretto.segment @third() -> (tensor<2xf32>, tensor<2x2xi32>) attributes {direction = "forward"} {
  %one = stretto.constant 1.0 : tensor<2xf32>
  %three = stretto.constant 3.0 : tensor<f32>
  %r = stretto.div %one, %three : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %like = stretto.constant 0.0 : tensor<2x2xf32>
  %i = stretto.iota %like {dim = 0 : i64} : tensor<2x2xf32> -> tensor<2x2xi32>
  stretto.yield %r, %i : tensor<2xf32>, tensor<2x2xi32>
}

stretto.segment @softmax(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) attributes {direction = "forward"} {
  %y = stretto.softmax %x {dim = 1 : i64} : tensor<3x5xf32> -> tensor<3x5xf32>
  stretto.yield %y : tensor<3x5xf32>
}
stretto.segment @byhand(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<3x5xf32> -> tensor<3x5xf32>
  %s = stretto.reduce sum %e dims [1] : tensor<3x5xf32> -> tensor<3xf32>
  %b = stretto.broadcast %s dims [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = stretto.div %e, %b : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  stretto.yield %y : tensor<3x5xf32>
}
stretto.segment @unshifted(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>) attributes {direction = "forward"} {
  %y = stretto.exp %x : tensor<3x5xf32> -> tensor<3x5xf32>
  stretto.yield %y : tensor<3x5xf32>
}


stretto.segment @rank(%x: tensor<2xf32>) -> (tensor<2xi32>) attributes {direction = "forward"} {
  %i = stretto.iota %x {dim = 0 : i64, offset = #stretto.offset<mesh<dp = 2>, [dp * 2], microbatch * 0>} : tensor<2xf32> -> tensor<2xi32>
  stretto.yield %i : tensor<2xi32>
}
}
