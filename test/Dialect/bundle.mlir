// RUN: stretto-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// A bundle stands for its members where a segment is invoked; %b[0, 2] passes
// two of three. Types of bundles have short names.

// CHECK-DAG: ![[PARAMS:bundle[0-9]*]] = tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>
// CHECK-DAG: ![[RESULTS:bundle[0-9]*]] = tuple<tensor<2xf32>, tensor<4xf32>>
// CHECK: stretto.step @train(%[[P:.*]]: ![[PARAMS]] {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}, {name = "v"}, {name = "b", stretto.no_decay}]>})
// CHECK: %[[Z:.*]] = stretto.zeros : ![[RESULTS]]
// CHECK: %[[B:.*]]:2 = stretto.invoke @f(%[[P]][0, 2], %[[Z]]) instance "l" : (![[PARAMS]], ![[RESULTS]]) -> (![[RESULTS]], tensor<8xf32>)
// CHECK: stretto.invoke @g(%[[P]], %[[B]]#1) instance "l"
stretto.segment @f(%w: tensor<4xf32>, %b: tensor<2xf32>, %y: tensor<2xf32>, %x: tensor<4xf32>)
    -> (tensor<2xf32>, tensor<4xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %v = stretto.zeros : tensor<8xf32>
  stretto.yield %y, %x, %v : tensor<2xf32>, tensor<4xf32>, tensor<8xf32>
}
stretto.segment @g(%w: tensor<4xf32>, %v: tensor<8xf32>, %b: tensor<2xf32>, %u: tensor<8xf32>)
    -> (tensor<4xf32>) attributes {direction = "forward"} {
  stretto.yield %w : tensor<4xf32>
}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>
      {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}, {name = "v"}, {name = "b", stretto.no_decay}]>})
    -> (tensor<4xf32> {stretto.binding = "output:y"}) {
  %z = stretto.zeros : tuple<tensor<2xf32>, tensor<4xf32>>
  %b:2 = stretto.invoke @f(%p[0, 2], %z) instance "l"
    : (tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>, tuple<tensor<2xf32>, tensor<4xf32>>)
    -> (tuple<tensor<2xf32>, tensor<4xf32>>, tensor<8xf32>)
  %y = stretto.invoke @g(%p, %b#1) instance "l"
    : (tuple<tensor<4xf32>, tensor<8xf32>, tensor<2xf32>>, tensor<8xf32>) -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.segment @f(%w: tensor<4xf32>) -> (tensor<4xf32>) attributes {direction = "forward"} {
  stretto.yield %w : tensor<4xf32>
}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>>
      {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}, {name = "v"}]>}) {
  // expected-error @below {{passes member 2 of operand 0, which has 2}}
  %y = stretto.invoke @f(%p[2]) instance "l" : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<4xf32>
  stretto.yield
}

// -----

// expected-note @below {{declared here}}
stretto.segment @f(%w: tensor<4xf32>) -> (tensor<4xf32>) attributes {direction = "forward"} {
  stretto.yield %w : tensor<4xf32>
}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>>
      {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}, {name = "v"}]>}) {
  // expected-error @below {{passes 2 values, but segment @f takes 1}}
  %y = stretto.invoke @f(%p) instance "l" : (tuple<tensor<4xf32>, tensor<8xf32>>) -> tensor<4xf32>
  stretto.yield
}

// -----

// expected-error @below {{argument 0 is a bundle without stretto.members}}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>> {stretto.binding = "param:l"}) {
  stretto.yield
}

// -----

// expected-error @below {{argument 0 is a bundle of 2 with 1 entries in stretto.members}}
stretto.step @train(%p: tuple<tensor<4xf32>, tensor<8xf32>>
      {stretto.binding = "param:l", stretto.members = #stretto.members<[{name = "w"}]>}) {
  stretto.yield
}

// -----

// expected-error @below {{member 0 has no name}}
stretto.step @train(%p: tuple<tensor<4xf32>> {stretto.binding = "param:l", stretto.members = #stretto.members<[{}]>}) {
  stretto.yield
}
