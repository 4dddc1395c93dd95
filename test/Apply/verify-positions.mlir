// RUN: not stretto-opt %s --verify-model --apply-recipe 2>&1 | FileCheck %s
// A sequence longer than the position table is refused when it is bound.

// CHECK: verify-positions.mlir:[[#@LINE + 5]]:{{.*}} error: 'stretto.embedding' op looks up 9 positions in a table of 8 rows; use a sequence of at most 8 or a longer table
module attributes {stretto.recipe = {sequence = 9 : i64}} {
  stretto.layer @l(%tokens: tensor<?x?xi32> dims [batch, seq],
                   params(%table: tensor<8x4xf32> dims [position, embed] init zeros)) -> (tensor<f32>, tensor<f32>) {
    %p = stretto.iota %tokens {dim = 1 : i64} : tensor<?x?xi32> -> tensor<?x?xi32>
    %e = stretto.embedding %table, %p : tensor<8x4xf32>, tensor<?x?xi32> -> tensor<?x?x4xf32>
    %s = stretto.reduce sum %e dims [0, 1, 2] : tensor<?x?x4xf32> -> tensor<f32>
    %f = stretto.convert %tokens : tensor<?x?xi32> -> tensor<?x?xf32>
    %c = stretto.reduce sum %f dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%tokens: tensor<?x?xi32> dims [batch, seq]) {
    %s, %c = stretto.call @l(%tokens) scope "l" : (tensor<?x?xi32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}
