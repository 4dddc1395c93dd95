#sum = #stretto.dist<mesh<tp = 4>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 4>, [{}]>
module attributes {stretto.links = {tp = {speed = 1.0}}} {
  stretto.segment @nonsense(%x: tensor<64xf32, #sum>) -> tensor<64xf32, #whole> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<64xf32, #sum> -> tensor<64xf32, #whole>
    stretto.yield %y : tensor<64xf32, #whole>
  }
}
