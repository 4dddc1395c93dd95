module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>} {
  stretto.segment @cut(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{dp}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.neg %b : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %c : tensor<8x16xf32>
  }
  stretto.segment @offer(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{dp}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %b : tensor<8x16xf32>
  }
  stretto.segment @whole(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.constrain %a <[{}, {?}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.neg %b : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %c : tensor<8x16xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @cut(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %b = stretto.invoke @offer(%x) instance "b" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %c = stretto.invoke @whole(%x) instance "c" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}
