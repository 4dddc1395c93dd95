// RUN: stretto-opt %s --apply-recipe | FileCheck %s
// RUN: stretto-opt %s --apply-recipe=microbatches=3 | FileCheck %s --check-prefix=THREE
// RUN: not stretto-opt %s --apply-recipe=microbatches=4 2>&1 | FileCheck %s --check-prefix=FOUR
// The recipe binds batch to the samples of one micro-batch and seq to the
// sequence, in every type; entries that the module lacks get their defaults.

// CHECK: stretto.recipe = {
// CHECK-SAME: beta2 = 0.94999999999999996 : f64
// CHECK-SAME: global_batch = 6 : i64
// CHECK-SAME: microbatches = 2 : i64
// FOUR: error: global batch 6 does not split into 4 micro-batches; choose a divisor
module attributes {stretto.recipe = {global_batch = 6 : i64, microbatches = 2 : i64, sequence = 5 : i64}} {
  // CHECK-LABEL: stretto.layer @table(%ids: tensor<3x5xi32>
  // CHECK-SAME: -> tensor<3x5x8xf32>
  // THREE-LABEL: stretto.layer @table(%ids: tensor<2x5xi32>
  stretto.layer @table(%ids: tensor<?x?xi32> dims [batch, seq], params(%t: tensor<7x8xf32> dims [vocab, embed] init zeros)) -> tensor<?x?x8xf32> {
    // CHECK: stretto.embedding {{.*}} -> tensor<3x5x8xf32>
    %x = stretto.embedding %t, %ids : tensor<7x8xf32>, tensor<?x?xi32> -> tensor<?x?x8xf32>
    // A type that cannot be inferred from operand types follows its factors.
    // CHECK: stretto.convert {{.*}} -> tensor<3x5x8xbf16>
    %h = stretto.convert %x : tensor<?x?x8xf32> -> tensor<?x?x8xbf16>
    // CHECK: stretto.broadcast {{.*}} -> tensor<3x5x2x8xbf16>
    %w = stretto.broadcast %h dims [0, 1, 3] : tensor<?x?x8xbf16> -> tensor<?x?x2x8xbf16>
    // CHECK: stretto.reduce sum {{.*}} -> tensor<3x5x8xbf16>
    %y = stretto.reduce sum %w dims [2] : tensor<?x?x2x8xbf16> -> tensor<?x?x8xbf16>
    %z = stretto.convert %y : tensor<?x?x8xbf16> -> tensor<?x?x8xf32>
    stretto.yield %z : tensor<?x?x8xf32>
  }
  // CHECK-LABEL: stretto.model @m(%tokens: tensor<3x5xi32>
  stretto.model @m(%tokens: tensor<?x?xi32> dims [batch, seq]) {
    // CHECK: stretto.call @table(%tokens) scope "t" : (tensor<3x5xi32>) -> tensor<3x5x8xf32>
    %x = stretto.call @table(%tokens) scope "t" : (tensor<?x?xi32>) -> tensor<?x?x8xf32>
    stretto.output "x" %x : tensor<?x?x8xf32>
  }
}
