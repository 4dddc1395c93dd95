#x = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
#w = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#partial = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>

// x @ w with the contracted dimension split: every rank holds a part of the sum.
stretto.segment @row_parallel(%x: tensor<8x64xf32, #x>, %w: tensor<64x32xf32, #w>) -> (tensor<8x32xf32, #whole>)
    attributes {direction = "forward"} {
  %y = stretto.einsum "b f, f e -> b e" %x, %w
    : tensor<8x64xf32, #x>, tensor<64x32xf32, #w> -> tensor<8x32xf32, #partial>
  %z = stretto.all_reduce %y {group = #stretto.group<mesh<tp = 2>, {tp}>, kind = #stretto<reduce_kind sum>}
    : tensor<8x32xf32, #partial> -> tensor<8x32xf32, #whole>
  %a = stretto.gelu %z : tensor<8x32xf32, #whole> -> tensor<8x32xf32, #whole>
  stretto.yield %a : tensor<8x32xf32, #whole>
}
