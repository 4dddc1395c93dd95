module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  stretto.segment @turn(%x: tensor<8x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{dp}, {}]>})
      -> (tensor<8x16xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {tp}]>})
      attributes {direction = "forward"} {
    %y = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %y : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32> {stretto.binding = "param:x", stretto.constraint = #stretto.constraint<[{dp}, {}]>}) -> (tensor<8x16xf32> {stretto.binding = "output:y"}) {
    %r = "stretto.microbatches"(%x) <{count = 2 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%c: tensor<8x16xf32>):
      %y = stretto.invoke @turn(%c) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
      stretto.yield %y : tensor<8x16xf32>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield %r : tensor<8x16xf32>
  }
}
