module attributes {stretto.mesh = #stretto.mesh<tp = 2>} {
  stretto.segment @attn.fwd(
      %q: tensor<4x8x6x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}, {tp}, {}]>},
      %k: tensor<4x8x3x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}, {tp}, {}]>})
      -> (tensor<4x8x6x4xf32> {stretto.role = "activation", stretto.constraint = #stretto.constraint<[{}, {}, {tp}, {}]>})
      attributes {direction = "forward"} {
    %out, %lse = stretto.attention %q, %k, %k {causal, scale = 0.5 : f64} : tensor<4x8x6x4xf32>, tensor<4x8x3x4xf32>, tensor<4x8x3x4xf32> -> tensor<4x8x6x4xf32>, tensor<4x6x8xf32>
    stretto.yield %out : tensor<4x8x6x4xf32>
  }
  stretto.step @predict(%q: tensor<1x4x8x6x4xf32> {stretto.binding = "input:q"}, %k: tensor<1x4x8x3x4xf32> {stretto.binding = "input:k"}) {
    stretto.microbatches 1 inputs(%q, %k) carried() : (tensor<1x4x8x6x4xf32>, tensor<1x4x8x3x4xf32>) -> () {
    ^bb0(%qk: tensor<4x8x6x4xf32>, %kk: tensor<4x8x3x4xf32>):
      %o = stretto.invoke @attn.fwd(%qk, %kk) instance "attn" : (tensor<4x8x6x4xf32>, tensor<4x8x3x4xf32>) -> tensor<4x8x6x4xf32>
      stretto.yield
    }
    stretto.yield
  }
}
