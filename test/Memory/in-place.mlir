// RUN: stretto-opt %s -lower-to-program | FileCheck %s

// In place where the segment says so, with a copy where the old value is still
// needed.

stretto.kernel @twice(%x: tensor<16xf32>) -> tensor<16xf32> {
  stretto.yield %x : tensor<16xf32>
}
stretto.kernel @fresh(%x: tensor<16xf32>) -> tensor<16xf32> {
  stretto.yield %x : tensor<16xf32>
}
stretto.kernel @sum(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  stretto.yield %x : tensor<16xf32>
}

// The argument is nobody's to change: its value is copied into the result and
// changed there.
// CHECK-LABEL: program.segment @argument(value.0: 64 r, "new value.0": 64 rw) scratch 0
// CHECK-NEXT: program.copy(r arg0[0, 64], w arg1[0, 64])
// CHECK-NEXT: program.launch @twice(rw arg1[0, 64])
stretto.segment @argument(%x: tensor<16xf32>) -> tensor<16xf32> attributes {direction = "forward"} {
  %y = stretto.launch @twice(%x) {aliases = array<i64: 0>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  stretto.yield %y : tensor<16xf32>
}

// The old value is read again afterwards.
// CHECK-LABEL: program.segment @live(
// CHECK-NEXT: program.launch @fresh(r arg0[0, 64], w local0[[T:.*]])
// CHECK-NEXT: program.copy(r local0[[T]], w local1[[U:.*]])
// CHECK-NEXT: program.launch @twice(rw local2[[U]])
// CHECK-NEXT: program.launch @sum(r local0[[T]], r local2[[U]], w arg1[0, 64])
stretto.segment @live(%x: tensor<16xf32>) -> tensor<16xf32> attributes {direction = "forward"} {
  %t = stretto.launch @fresh(%x) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  %u = stretto.launch @twice(%t) {aliases = array<i64: 0>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  %y = stretto.launch @sum(%t, %u) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  stretto.yield %y : tensor<16xf32>
}

// Scratch is used again: three values, two at a time.
// CHECK-LABEL: program.segment @chain(
// CHECK-SAME: scratch 128 {
stretto.segment @chain(%x: tensor<16xf32>) -> tensor<16xf32> attributes {direction = "forward"} {
  %a = stretto.launch @fresh(%x) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  %b = stretto.launch @fresh(%a) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  %c = stretto.launch @fresh(%b) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  %d = stretto.launch @fresh(%c) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  stretto.yield %d : tensor<16xf32>
}

// A value that is two results is written once and copied.
// CHECK-LABEL: program.segment @twice_yielded(
// CHECK-NEXT: program.launch @fresh(r arg0[0, 64], w arg1[0, 64])
// CHECK-NEXT: program.copy(r arg1[0, 64], w arg2[0, 64])
stretto.segment @twice_yielded(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {direction = "forward"} {
  %a = stretto.launch @fresh(%x) {aliases = array<i64: -1>, scalars = []} : (tensor<16xf32>) -> tensor<16xf32>
  stretto.yield %a, %a : tensor<16xf32>, tensor<16xf32>
}

// Two arguments change places: one is saved first.
// CHECK-LABEL: program.segment @swap(value.0: 64 rw, value.1: 64 rw) scratch 128
// CHECK-NEXT: program.copy(r arg1[0, 64], w local0[[T:.*]])
// CHECK-NEXT: program.copy(r arg0[0, 64], w local1[[U:.*]])
// CHECK-NEXT: program.copy(r local0[[T]], w arg0[0, 64])
// CHECK-NEXT: program.copy(r local1[[U]], w arg1[0, 64])
stretto.segment @swap(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32> {stretto.alias = 0 : i64}, tensor<16xf32> {stretto.alias = 1 : i64}) attributes {direction = "forward"} {
  stretto.yield %y, %x : tensor<16xf32>, tensor<16xf32>
}

// CHECK-LABEL: program.function @f
// The input is the host's, and %a is needed later: both are copied before @swap
// changes them.
// CHECK: program.call @argument(inputs[0, 64], activations[[A:.*]]) instance "a"
// CHECK-NEXT: program.call @copy.64(activations[[A]], outputs[0, 64]) instance ""
// CHECK-NEXT: program.call @copy.64(inputs[0, 64], activations[[C:.*]]) instance ""
// CHECK-NEXT: program.call @swap(outputs[0, 64], activations[[C]]) using scratch[{{[0-9]+}}, 128] instance "s"
// CHECK-NEXT: program.call @argument(activations[[A]], outputs[64, 64]) instance "b"
stretto.step @f(%x: tensor<1x16xf32> {stretto.binding = "input:x"}) -> (tensor<16xf32> {stretto.binding = "output:y"}, tensor<16xf32> {stretto.binding = "output:z"}) {
  %z = stretto.zeros : tensor<16xf32>
  %r:2 = stretto.microbatches 1 inputs(%x) carried(%z, %z) : (tensor<1x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^bb0(%k: tensor<16xf32>, %unused0: tensor<16xf32>, %unused1: tensor<16xf32>):
    %a = stretto.invoke @argument(%k) instance "a" : (tensor<16xf32>) -> tensor<16xf32>
    %s, %t = stretto.invoke @swap(%a, %k) instance "s" : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    %b = stretto.invoke @argument(%a) instance "b" : (tensor<16xf32>) -> tensor<16xf32>
    stretto.yield %b, %s : tensor<16xf32>, tensor<16xf32>
  }
  stretto.yield %r#0, %r#1 : tensor<16xf32>, tensor<16xf32>
}
