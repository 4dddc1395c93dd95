// RUN: stretto-opt %s --apply-recipe=microbatches=1 --derive --verify-derived | FileCheck %s
// RUN: stretto-opt %s --apply-recipe=microbatches=1 --derive --unbundle --verify-derived | FileCheck %s --check-prefix=ONE
// What belongs to an instance is one value of the step. Accumulators share a
// bundle when the same instances add to them: l.1 adds to a and b of l.0, l.2
// to its c.

module attributes {stretto.recipe = {global_batch = 4 : i64, sequence = 2 : i64}} {
  stretto.layer @start(%x: tensor<?x3xf32> dims [batch, embed],
                       params(%w: tensor<3x3xf32> dims [embed, ffn] init ones)) -> tensor<?x3xf32> {
    %y = stretto.einsum "b e, e f -> b f" %x, %w : tensor<?x3xf32>, tensor<3x3xf32> -> tensor<?x3xf32>
    stretto.yield %y : tensor<?x3xf32>
  }
  stretto.layer @mix(%x: tensor<?x3xf32> dims [batch, embed],
                     params(%a: tensor<3x5xf32> dims [embed, ffn] init ones,
                            %b: tensor<5x3xf32> dims [ffn, embed] init ones,
                            %c: tensor<3xf32> dims [embed] init zeros no_decay)) -> tensor<?x3xf32> {
    %h = stretto.einsum "b e, e f -> b f" %x, %a : tensor<?x3xf32>, tensor<3x5xf32> -> tensor<?x5xf32>
    %g = stretto.tanh %h : tensor<?x5xf32> -> tensor<?x5xf32>
    %y = stretto.einsum "b f, f e -> b e" %g, %b : tensor<?x5xf32>, tensor<5x3xf32> -> tensor<?x3xf32>
    %z = stretto.add %y, %c : tensor<?x3xf32>, tensor<3xf32> -> tensor<?x3xf32>
    stretto.yield %z : tensor<?x3xf32>
  }
  stretto.layer @loss(%x: tensor<?x3xf32> dims [batch, embed], %mask: tensor<?xf32> dims [batch])
      -> (tensor<f32>, tensor<f32>) {
    %q = stretto.mul %x, %x : tensor<?x3xf32>, tensor<?x3xf32> -> tensor<?x3xf32>
    %r = stretto.reduce sum %q dims [1] : tensor<?x3xf32> -> tensor<?xf32>
    %m = stretto.mul %r, %mask : tensor<?xf32>, tensor<?xf32> -> tensor<?xf32>
    %s = stretto.reduce sum %m dims [0] : tensor<?xf32> -> tensor<f32>
    %n = stretto.reduce sum %mask dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %n : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?x3xf32> dims [batch, embed], %mask: tensor<?xf32> dims [batch]) {
    %h = stretto.call @start(%x) scope "start" : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %h0 = stretto.call @mix(%h) scope "l.0" : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %h1 = stretto.call @mix(%h0) scope "l.1" bind {a = "l.0.a", b = "l.0.b"} : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %h2 = stretto.call @mix(%h1) scope "l.2" bind {c = "l.0.c"} : (tensor<?x3xf32>) -> tensor<?x3xf32>
    %s, %n = stretto.call @loss(%h2, %mask) scope "loss" : (tensor<?x3xf32>, tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %n weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// All instances of a layer share one description of their parameters.
// CHECK-DAG: #[[ABC:members[0-9]*]] = #stretto.members<[{name = "a", stretto.dims = ["embed", "ffn"], stretto.init = #stretto.init<ones>}, {name = "b", {{.*}}}, {name = "c", {{.*}}stretto.no_decay}]>
// CHECK-DAG: #[[AB:members[0-9]*]] = #stretto.members<[{name = "a", {{[^}]*}}}, {name = "b", stretto.dims = [{{[^}]*}}}]>
// CHECK-DAG: ![[TABC:bundle[0-9]*]] = tuple<tensor<3x5xf32>, tensor<5x3xf32>, tensor<3xf32>>
// CHECK-DAG: ![[TAB:bundle[0-9]*]] = tuple<tensor<3x5xf32>, tensor<5x3xf32>>
// CHECK-LABEL: stretto.step @train(
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x3xf32> {stretto.binding = "param:start.w"
// CHECK: %[[P0:[a-z0-9]+]]: ![[TABC]] {stretto.binding = "param:l.0", stretto.members = #[[ABC]]}
// CHECK: %[[C1:[a-z0-9]+]]: tensor<3xf32> {stretto.binding = "param:l.1.c", {{.*}}stretto.no_decay}
// CHECK: %[[P2:[a-z0-9]+]]: ![[TAB]] {stretto.binding = "param:l.2", stretto.members = #[[AB]]}
// CHECK: %[[M0:[a-z0-9]+]]: ![[TABC]] {stretto.binding = "moment1:l.0"
// CHECK: ![[TABC]] {stretto.binding = "grad:l.0"
// CHECK: %[[Z:.*]]:6 = stretto.microbatches
// CHECK-SAME: carried({{.*}}) : ({{.*}}, tensor<3x3xf32>, ![[TAB]], tensor<3xf32>, tensor<3xf32>, ![[TAB]], tensor<f32>) ->
// CHECK: ^bb0({{.*}}, %[[AAB:[a-z0-9]+]]: ![[TAB]], %[[AC:[a-z0-9]+]]: tensor<3xf32>, %[[AC1:[a-z0-9]+]]: tensor<3xf32>, %[[AAB2:[a-z0-9]+]]: ![[TAB]], %{{[a-z0-9]+}}: tensor<f32>):
// CHECK: stretto.invoke @mix.fwd(%{{[0-9#]+}}, %[[P0]]) instance "l.0"
// CHECK: stretto.invoke @mix.fwd(%{{[0-9#]+}}, %[[P0]][0, 1], %[[C1]]) instance "l.1"
// CHECK: stretto.invoke @mix.fwd(%{{[0-9#]+}}, %[[P2]], %[[P0]][2]) instance "l.2"
// CHECK: %[[B2:.*]]:3 = stretto.invoke @mix.bwd({{.*}}, %[[P2]], %{{[0-9#]+}}, %[[AAB2]], %[[AC]]) instance "l.2"
// CHECK: %[[B1:.*]]:3 = stretto.invoke @mix.bwd({{.*}}, %[[P0]][0, 1], %[[B2]]#0, %[[AAB]], %[[AC1]]) instance "l.1"
// CHECK: %[[B0:.*]]:3 = stretto.invoke @mix.bwd({{.*}}, %[[P0]][0, 1], %[[B1]]#0, %[[B1]]#1, %[[B2]]#2) instance "l.0"
// CHECK: stretto.yield %{{[0-9#]+}}, %[[B0]]#1, %[[B0]]#2, %[[B1]]#2, %[[B2]]#1, %{{[0-9#]+}}
// CHECK: stretto.invoke @mix.reduce(%[[Z]]#4) instance "l.2"
// CHECK: stretto.invoke @mix.1.reduce(%[[Z]]#3) instance "l.1"
// CHECK: %[[G0:.*]] = stretto.invoke @mix.2.reduce(%[[Z]]#1, %[[Z]]#2) instance "l.0" : ({{.*}}) -> ![[TABC]]
// CHECK: stretto.invoke @mix.2.norm(%[[G0]], {{.*}}) instance "l.0" : ({{.*}}) -> tensor<f32>
// CHECK: stretto.invoke @mix.update(%[[P0]], %[[G0]], %[[M0]], {{.*}}) instance "l.0" : ({{.*}}) -> (![[TABC]], ![[TABC]], ![[TABC]])

// ONE: stretto.binding = "param:l.0.a", stretto.dims = ["embed", "ffn"], stretto.init = #stretto.init<ones>}
// ONE: stretto.binding = "moment2:l.2.b"}
// ONE: stretto.binding = "grad:l.1.c"}
