// RUN: stretto-opt %s --apply-recipe=microbatches=4 --derive --verify-derived --unbundle | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: stretto-opt %s --apply-recipe=microbatches=1 --derive --verify-derived --unbundle | FileCheck %s --check-prefixes=CHECK,ONE
// A two-layer model with a tied head, one value per tensor (bundles.mlir shows
// what belongs together): counts come first, then all forward and
// backward invocations of a micro-batch, then reduce, finish and update. The
// tied table has one accumulator per way of using it and one gradient.

module attributes {stretto.recipe = {global_batch = 8 : i64, sequence = 6 : i64}} {
  stretto.layer @embed(%ids: tensor<?x?xi32> dims [batch, seq],
                       params(%table: tensor<11x4xf32> dims [vocab, embed] init normal(0.02)))
      -> tensor<?x?x4xf32> {
    %x = stretto.embedding %table, %ids : tensor<11x4xf32>, tensor<?x?xi32> -> tensor<?x?x4xf32>
    stretto.yield %x : tensor<?x?x4xf32>
  }
  stretto.layer @block(%x: tensor<?x?x4xf32> dims [batch, seq, embed],
                       params(%w: tensor<4x4xf32> dims [embed, ffn] init normal(0.02),
                              %b: tensor<4xf32> dims [ffn] init zeros no_decay))
      -> tensor<?x?x4xf32> {
    %h = stretto.einsum "b s e, e f -> b s f" %x, %w : tensor<?x?x4xf32>, tensor<4x4xf32> -> tensor<?x?x4xf32>
    %s = stretto.add %h, %b : tensor<?x?x4xf32>, tensor<4xf32> -> tensor<?x?x4xf32>
    %y = stretto.tanh %s : tensor<?x?x4xf32> -> tensor<?x?x4xf32>
    stretto.yield %y : tensor<?x?x4xf32>
  }
  stretto.layer @head(%x: tensor<?x?x4xf32> dims [batch, seq, embed], %labels: tensor<?x?xi32> dims [batch, seq],
                      %mask: tensor<?x?xf32> dims [batch, seq],
                      params(%table: tensor<11x4xf32> dims [vocab, embed]))
      -> (tensor<f32>, tensor<f32>, tensor<?x?x11xf32>) {
    %l = stretto.einsum "b s e, v e -> b s v" %x, %table : tensor<?x?x4xf32>, tensor<11x4xf32> -> tensor<?x?x11xf32>
    %loss, %lse = stretto.cross_entropy %l, %labels : tensor<?x?x11xf32>, tensor<?x?xi32> -> tensor<?x?xf32>, tensor<?x?xf32>
    %w = stretto.mul %loss, %mask : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %s = stretto.reduce sum %w dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    %c = stretto.reduce sum %mask dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
    stretto.yield %s, %c, %l : tensor<f32>, tensor<f32>, tensor<?x?x11xf32>
  }
  stretto.model @gpt(%tokens: tensor<?x?xi32> dims [batch, seq], %labels: tensor<?x?xi32> dims [batch, seq],
                     %mask: tensor<?x?xf32> dims [batch, seq]) {
    %h0 = stretto.call @embed(%tokens) scope "embed" : (tensor<?x?xi32>) -> tensor<?x?x4xf32>
    %h1 = stretto.call @block(%h0) scope "layers.0" : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %h2 = stretto.call @block(%h1) scope "layers.1" : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %s, %c, %logits = stretto.call @head(%h2, %labels, %mask) scope "head" bind {table = "embed.table"}
      : (tensor<?x?x4xf32>, tensor<?x?xi32>, tensor<?x?xf32>) -> (tensor<f32>, tensor<f32>, tensor<?x?x11xf32>)
    stretto.loss %s, %c weight 0.5 : tensor<f32>, tensor<f32>
    stretto.output "logits" %logits : tensor<?x?x11xf32>
  }
}

// CHECK-NOT: stretto.layer
// CHECK-NOT: stretto.model
// 1/count, or 0 when nothing is counted; the seed has the weight as well.
// CHECK-LABEL: stretto.segment @seed(%arg0: tensor<f32> {stretto.role = "partial_scalar"})
// CHECK: %[[SOME:.*]] = stretto.compare gt %arg0
// CHECK: %[[INV:.*]] = stretto.select %[[SOME]]
// CHECK: %[[HALF:.*]] = stretto.constant 5.0
// CHECK: %[[SEED:.*]] = stretto.mul %[[INV]], %[[HALF]]
// CHECK: stretto.yield %[[INV]], %[[SEED]], %arg0

// The result of the layer is all that backward needs: nothing is saved twice.
// CHECK-LABEL: stretto.segment @block.fwd(
// CHECK: -> (tensor<{{.*}}> {stretto.dims = ["batch", "seq", "ffn"], stretto.role = "activation"})
// CHECK-NEXT: attributes {direction = "forward"
// CHECK-LABEL: stretto.segment @block.bwd(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<{{[^>]*}}> {stretto.dims = ["batch", "seq", "ffn"], stretto.role = "activation"}
// CHECK: %[[X:[a-z0-9]+]]: tensor<{{[^>]*}}> {stretto.dims = ["batch", "seq", "embed"], stretto.name = "x", stretto.role = "activation"}
// CHECK: %[[W:[a-z0-9]+]]: tensor<4x4xf32> {{{[^}]*}}stretto.param = "w", stretto.role = "param"}
// CHECK: %[[G:[a-z0-9]+]]: tensor<{{[^>]*}}> {{{[^}]*}}stretto.role = "cotangent"}
// CHECK: %[[WACC:[a-z0-9]+]]: tensor<4x4xf32> {{{[^}]*}}stretto.param = "w", stretto.role = "accumulator"}
// CHECK: %[[BACC:[a-z0-9]+]]: tensor<4xf32> {{{[^}]*}}stretto.param = "b", stretto.role = "accumulator"}
// CHECK: stretto.alias = 4 : i64
// CHECK: stretto.alias = 5 : i64
// CHECK: stretto.yield

// CHECK-LABEL: stretto.step @train(
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<11x4xf32> {stretto.binding = "param:embed.table", stretto.dims = ["vocab", "embed"], stretto.init = #stretto.init<normal(2.000000e-02)>}
// CHECK: stretto.binding = "param:layers.0.w"
// CHECK: stretto.binding = "param:layers.0.b", {{[^}]*}}stretto.no_decay
// CHECK: stretto.binding = "param:layers.1.b"
// CHECK-NOT: head.table
// CHECK: stretto.binding = "moment1:embed.table"
// CHECK: stretto.binding = "moment2:embed.table"
// FOUR: tensor<4x2x6xi32> {stretto.binding = "input:tokens", stretto.dims = ["_", "batch", "seq"]}
// ONE: tensor<1x8x6xi32> {stretto.binding = "input:tokens"
// CHECK: %[[MASK:[a-z0-9]+]]: tensor<{{[^>]*}}> {stretto.binding = "input:mask"
// CHECK: tensor<4xf32> {stretto.binding = "hyper"}
// CHECK: stretto.binding = "grad:embed.table"
// CHECK: stretto.binding = "grad:layers.1.b"
// CHECK: tensor<f32> {stretto.binding = "output:loss"},
// CHECK-NEXT: tensor<f32> {stretto.binding = "output:count"},
// CHECK-NEXT: tensor<f32> {stretto.binding = "output:grad_norm"}
// FOUR: %[[COUNT:.*]] = stretto.microbatches 4 inputs(%[[MASK]]) carried(%{{.*}})
// ONE: %[[COUNT:.*]] = stretto.microbatches 1 inputs(%[[MASK]]) carried(%{{.*}})
// CHECK: stretto.invoke @head.count({{.*}}) instance "head"
// CHECK: %[[SEEDS:.*]]:3 = stretto.invoke @seed(%[[COUNT]])
// CHECK: %[[TOTALS:.*]]:7 = stretto.microbatches
// CHECK: %[[H0:.*]] = stretto.invoke @embed.fwd({{.*}}, %[[TABLE]]) instance "embed"
// CHECK: %[[H1:.*]] = stretto.invoke @block.fwd(%[[H0]], {{.*}}) instance "layers.0"
// CHECK: %[[H2:.*]] = stretto.invoke @block.fwd(%[[H1]], {{.*}}) instance "layers.1"
// CHECK: %[[OUT:.*]]:3 = stretto.invoke @head.fwd(%[[H2]], {{.*}}, %[[TABLE]]) instance "head"
// CHECK: stretto.invoke @loss.add(%[[OUT]]#0
// CHECK: %[[G2:.*]]:2 = stretto.invoke @head.bwd(%[[OUT]]#1, %[[OUT]]#2, %[[H2]], {{.*}}, %[[TABLE]], %[[SEEDS]]#1, {{.*}}) instance "head"
// CHECK: %[[G1:.*]]:3 = stretto.invoke @block.bwd(%[[H2]], %[[H1]], {{.*}}, %[[G2]]#0, {{.*}}) instance "layers.1"
// CHECK: %[[G0:.*]]:3 = stretto.invoke @block.bwd(%[[H1]], %[[H0]], {{.*}}, %[[G1]]#0, {{.*}}) instance "layers.0"
// CHECK: stretto.invoke @embed.bwd({{.*}}, %[[G0]]#0, {{.*}}) instance "embed"
// The last gradients are there first. Two uses of the table meet in its owner's reduction.
// CHECK: %[[R1:.*]]:2 = stretto.invoke @block.reduce(%[[TOTALS]]#3, %[[TOTALS]]#4) instance "layers.1"
// CHECK: %[[N1:.*]] = stretto.invoke @block.norm(%[[R1]]#0, %[[R1]]#1, %{{[0-9]+}}) instance "layers.1"
// CHECK: %[[R0:.*]]:2 = stretto.invoke @block.reduce({{.*}}) instance "layers.0"
// CHECK: %[[N0:.*]] = stretto.invoke @block.norm(%[[R0]]#0, %[[R0]]#1, %[[N1]]) instance "layers.0"
// CHECK: %[[R:.*]] = stretto.invoke @embed.reduce(%[[TOTALS]]#0, %[[TOTALS]]#5) instance "embed"
// CHECK: %[[N:.*]] = stretto.invoke @embed.norm(%[[R]], %[[N0]]) instance "embed"
// CHECK: %[[END:.*]]:4 = stretto.invoke @finish(%[[TOTALS]]#6, %[[SEEDS]]#0, %[[N]])
// CHECK: stretto.invoke @embed.update(%[[TABLE]], {{.*}}, %[[END]]#2, %[[END]]#3) instance "embed"
// CHECK: stretto.invoke @block.update({{.*}}) instance "layers.0"
// CHECK: stretto.invoke @block.update({{.*}}) instance "layers.1"
// CHECK-NOT: stretto.invoke
// CHECK: stretto.yield

// CHECK-LABEL: stretto.segment @embed.reduce(
// CHECK: %[[SUM:.*]] = stretto.add %arg0, %arg1
// CHECK-NEXT: stretto.yield %[[SUM]]
// CHECK-LABEL: stretto.segment @embed.norm(
// CHECK: %[[SQUARE:.*]] = stretto.mul %arg0, %arg0
// CHECK: %[[TERM:.*]] = stretto.reduce sum %[[SQUARE]] dims [0, 1]
// CHECK: %[[NORM:.*]] = stretto.add %arg1, %[[TERM]]
// CHECK-NEXT: stretto.yield %[[NORM]]

// Weight decay is the recipe's, or zero for no_decay.
// CHECK-LABEL: stretto.segment @block.update(
// CHECK: stretto.adamw {{.*}}weight_decay = 1.000000e-01
// CHECK: stretto.adamw {{.*}}weight_decay = 0.000000e+00

// Prediction needs neither labels nor mask.
// CHECK-LABEL: stretto.step @eval(
// CHECK: stretto.binding = "input:labels"
// CHECK-LABEL: stretto.step @predict(
// CHECK: tensor<1x{{[0-9]}}x6xi32> {stretto.binding = "input:tokens"
// CHECK-NOT: labels
// CHECK: stretto.yield
