#group = #stretto.group<mesh<tp = 6>, {tp:(2)3, tp:(1)2}>
#other = #stretto.group<mesh<tp = 6>, {tp:(3)2, tp:(1)3}>
stretto.segment @digits_do_not_align(%x: tensor<6x1xf32>) -> tensor<6x1xf32> attributes {direction = "forward"} {
  %y = stretto.permute %x {group = #group, to = #other} : tensor<6x1xf32> -> tensor<6x1xf32>
  %z = stretto.all_to_all %x {group = #group, to = #other, split_dim = 0 : i64, concat_dim = 1 : i64} : tensor<6x1xf32> -> tensor<1x6xf32>
  stretto.yield %x : tensor<6x1xf32>
}
