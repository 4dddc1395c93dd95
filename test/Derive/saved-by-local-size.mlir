// RUN: stretto-opt %s --apply-recipe --derive --unbundle | FileCheck %s --check-prefix=SHARDED
// RUN: sed 's/tp = 8/tp = 1/' %s | stretto-opt --apply-recipe --derive --unbundle | FileCheck %s --check-prefix=WHOLE
// What is kept is the fewest bytes of a rank: of gelu's result, 32 wide, and of what a product that may be repeated makes of
// it, 16 wide, the second is smaller on one rank; on eight that split the first, and not the second, the first.

module attributes {stretto.recipe = {global_batch = 8 : i64, sequence = 6 : i64}, stretto.mesh = #stretto.mesh<tp = 8>} {
  // SHARDED: stretto.segment @block.fwd(
  // SHARDED: tensor<8x6x32xf32> {{{.*}}stretto.role = "saved"}
  // SHARDED-NOT: stretto.role = "saved"
  // SHARDED: stretto.segment @block.bwd(
  // SHARDED: stretto.einsum "b s f, f o -> b s o"
  // WHOLE: stretto.segment @block.fwd(
  // WHOLE: tensor<8x6x16xf32> {{{.*}}stretto.role = "saved"}
  // WHOLE-NOT: stretto.role = "saved"
  // WHOLE: stretto.segment @block.bwd(
  // WHOLE-NOT: stretto.einsum "b s f, f o -> b s o"
  // WHOLE: stretto.yield
  stretto.layer @block(%x: tensor<?x?x4xf32> dims [batch, seq, embed], %c: tensor<32x16xf32> dims [ffn, out],
                       params(%w: tensor<4x32xf32> dims [embed, ffn] init normal(0.02) {stretto.constraint = #stretto.constraint<[{?}, {tp}]>}))
      -> tensor<?x?x16xf32> {
    %h = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<?x?x4xf32>, tensor<4x32xf32> -> tensor<?x?x32xf32>
    %a = stretto.gelu %h {tanh} : tensor<?x?x32xf32> -> tensor<?x?x32xf32>
    %b = stretto.einsum "b s f, f o -> b s o" %a, %c : tensor<?x?x32xf32>, tensor<32x16xf32> -> tensor<?x?x16xf32>
    %y = stretto.mul %b, %b : tensor<?x?x16xf32>, tensor<?x?x16xf32> -> tensor<?x?x16xf32>
    stretto.yield %y : tensor<?x?x16xf32>
  }
  stretto.layer @head(%y: tensor<?x?x16xf32> dims [batch, seq, out], %mask: tensor<?x?xf32> dims [batch, seq])
      -> (tensor<f32>, tensor<f32>) {
    %l = stretto.reduce sum %y dims [2] : tensor<?x?x16xf32> -> tensor<?x?xf32>
    %t = stretto.mul %l, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %s = stretto.reduce sum %t dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    %n = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %s, %n : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?x?x4xf32> dims [batch, seq, embed], %c: tensor<32x16xf32> dims [ffn, out], %mask: tensor<?x?xf32> dims [batch, seq]) {
    %y = stretto.call @block(%x, %c) scope "block" {stretto.recompute = ["einsum"]} : (tensor<?x?x4xf32>, tensor<32x16xf32>) -> tensor<?x?x16xf32>
    %s, %n = stretto.call @head(%y, %mask) scope "head" : (tensor<?x?x16xf32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %n weight 1.0 : tensor<f32>, tensor<f32>
  }
}
