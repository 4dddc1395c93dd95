#tp = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>
#dp = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>
#sum = #stretto<reduce_kind sum>
#max = #stretto<reduce_kind max>

stretto.segment @up(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %a : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %y {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %e, %b : tensor<8xf32>, tensor<8xf32>
}

stretto.segment @down(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %y : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %e {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %a, %b : tensor<8xf32>, tensor<8xf32>
}

stretto.segment @chain(%x: tensor<8xf32>) -> tensor<8xf32> attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %a : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %e {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %b : tensor<8xf32>
}

stretto.segment @kinds(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %a : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %y {group = #dp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %c = stretto.all_reduce %y {group = #tp, kind = #max} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %e, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
