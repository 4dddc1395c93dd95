#rows = #stretto.dist<mesh<a = 2, b = 2>, [{a}, {b}]>
#columns = #stretto.dist<mesh<a = 2, b = 2>, [{b}, {a}]>
stretto.segment @transposed(%x: tensor<4x4xf32, #rows>) -> tensor<4x4xf32, #columns> attributes {direction = "forward"} {
  %y = stretto.reshard %x {cause = "why"} : tensor<4x4xf32, #rows> -> tensor<4x4xf32, #columns>
  stretto.yield %y : tensor<4x4xf32, #columns>
}
