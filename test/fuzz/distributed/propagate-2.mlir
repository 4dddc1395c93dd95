module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  stretto.segment @one_use(%x: tensor<8x16xf32>, %w: tensor<16x4xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>})
      -> tensor<8x4xf32> attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m k, k n -> m n" %a, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %b : tensor<8x4xf32>
  }
  stretto.segment @two_uses(%x: tensor<8x16xf32>, %w: tensor<16x4xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>},
      %v: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.einsum "m k, k n -> m n" %a, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    %c = stretto.einsum "m k, k n -> m n" %a, %v : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %b, %c : tensor<8x4xf32>, tensor<8x4xf32>
  }
  stretto.segment @takes_none(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{?}, {}]>},
      %y: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{?}, {?}], replicated {tp}>},
      %w: tensor<16x4xf32> {stretto.constraint = #stretto.constraint<[{tp}, {?}]>}) -> (tensor<8x4xf32>, tensor<8x4xf32>)
      attributes {direction = "forward"} {
    %a = stretto.exp %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.exp %y : tensor<8x16xf32> -> tensor<8x16xf32>
    %c = stretto.einsum "m k, k n -> m n" %a, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    %d = stretto.einsum "m k, k n -> m n" %b, %w : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
    stretto.yield %c, %d : tensor<8x4xf32>, tensor<8x4xf32>
  }
  stretto.step @s(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
    %a = stretto.invoke @one_use(%x, %w) instance "a" : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %b:2 = stretto.invoke @two_uses(%x, %w, %w) instance "b" : (tensor<8x16xf32>, tensor<16x4xf32>, tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    %c:2 = stretto.invoke @takes_none(%x, %x, %w) instance "c" : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
    stretto.yield
  }
}
