#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
stretto.segment @missing_all_reduce(%x: tensor<4x8xf32, #cols>, %w: tensor<8x6xf32, #rows>) -> tensor<4x6xf32, #whole>
    attributes {direction = "forward"} {
  %y = stretto.einsum "a b, b c -> a c" %x, %w : tensor<4x8xf32, #cols>, tensor<8x6xf32, #rows> -> tensor<4x6xf32, #whole>
  stretto.yield %y : tensor<4x6xf32, #whole>
}
