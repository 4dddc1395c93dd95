#s = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp}, {}, {tp}]>
#p = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp}, {}, {}], sum {tp}>
#r = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp}, {tp:(1)2}, {}], padded [0, 4, 0]>
stretto.segment @seg(%x: tensor<4x3x8xf32, #p>) -> tensor<4x3x8xf32, #r> attributes {direction = "forward"} {
  %0 = stretto.reshard %x : tensor<4x3x8xf32, #p> -> tensor<4x3x8xf32, #r>
  stretto.yield %0 : tensor<4x3x8xf32, #r>
}
