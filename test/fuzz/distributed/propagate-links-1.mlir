module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>, stretto.links = {dp = {bandwidth = 1.0e8}}} {
  stretto.segment @slow_dp(%x: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{dp}]>},
      %y: tensor<64xf32> {stretto.constraint = #stretto.constraint<[{tp}]>}) -> tensor<64xf32> attributes {direction = "forward"} {
    %z = stretto.add %x, %y : tensor<64xf32>, tensor<64xf32> -> tensor<64xf32>
    stretto.yield %z : tensor<64xf32>
  }
  stretto.step @s(%x: tensor<64xf32>) {
    %a = stretto.invoke @slow_dp(%x, %x) instance "a" : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    stretto.yield
  }
}
