#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  stretto.segment @body(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<8xf32, #partial> -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
  stretto.step @train() -> tensor<8xf32, #partial> {
    %z = stretto.zeros : tensor<8xf32, #partial>
    %r = "stretto.microbatches"(%z) <{count = 2 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%c: tensor<8xf32, #partial>):
      %y = stretto.invoke @body(%c) instance "n" : (tensor<8xf32, #partial>) -> tensor<8xf32, #whole>
      stretto.yield %y : tensor<8xf32, #whole>
    }) : (tensor<8xf32, #partial>) -> tensor<8xf32, #partial>
    stretto.yield %r : tensor<8xf32, #partial>
  }
}
