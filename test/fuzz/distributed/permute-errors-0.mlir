#group = #stretto.group<mesh<dp = 2, tp = 4>, {dp}>
#other = #stretto.group<mesh<dp = 2, tp = 4>, {tp}>
stretto.segment @other_axes(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  %y = stretto.permute %x {group = #group, to = #other} : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %x : tensor<4xf32>
}
