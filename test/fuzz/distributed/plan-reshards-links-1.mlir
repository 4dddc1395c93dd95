#both = #stretto.dist<mesh<dp = 2, tp = 4>, [{dp, tp}, {}]>
#columns = #stretto.dist<mesh<dp = 2, tp = 4>, [{}, {tp}]>
module attributes {stretto.links = {dp = {latency = 1.0e-5}, tp = {latency = 1.0e-5}}} {
  stretto.segment @fewest_rounds(%x: tensor<64x64xf32, #both>) -> tensor<64x64xf32, #columns> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<64x64xf32, #both> -> tensor<64x64xf32, #columns>
    stretto.yield %y : tensor<64x64xf32, #columns>
  }
}
