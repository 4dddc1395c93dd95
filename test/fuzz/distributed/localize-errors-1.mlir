#rows = #stretto.dist<mesh<tp = 4>, [{tp}]>
#whole = #stretto.dist<mesh<tp = 4>, [{}]>
module attributes {stretto.mesh = #stretto.mesh<tp = 4>} {
  stretto.segment @unplanned(%x: tensor<8xf32, #rows>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<8xf32, #rows> -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
}
