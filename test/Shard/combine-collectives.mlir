// RUN: stretto-opt %s -combine-collectives | FileCheck %s
// RUN: stretto-opt %s -combine-collectives=max-bytes=40 | FileCheck %s --check-prefix=LIMIT

#tp = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>
#dp = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>
#sum = #stretto<reduce_kind sum>
#max = #stretto<reduce_kind max>

// The second is ready when the first runs: it moves up. With room for ten numbers it stays.
// CHECK-LABEL: @up(
// CHECK-NEXT: all_reduce %arg0
// CHECK-NEXT: all_reduce %arg1
// CHECK-NEXT: exp
// LIMIT-LABEL: @up(
// LIMIT-NEXT: all_reduce %arg0
// LIMIT-NEXT: exp
// LIMIT-NEXT: all_reduce %arg1
stretto.segment @up(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %a : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %y {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %e, %b : tensor<8xf32>, tensor<8xf32>
}

// The first is not needed before the second is ready: it moves down.
// CHECK-LABEL: @down(
// CHECK-NEXT: exp
// CHECK-NEXT: all_reduce %arg0
// CHECK-NEXT: all_reduce
// CHECK-NEXT: yield
stretto.segment @down(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %y : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %e {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %a, %b : tensor<8xf32>, tensor<8xf32>
}

// One needs the other, through an operation: nothing can move.
// CHECK-LABEL: @chain(
// CHECK-NEXT: all_reduce
// CHECK-NEXT: exp
// CHECK-NEXT: all_reduce
stretto.segment @chain(%x: tensor<8xf32>) -> tensor<8xf32> attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %a : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %e {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %b : tensor<8xf32>
}

// Another group or reduction is another kind.
// CHECK-LABEL: @kinds(
// CHECK: attributes
// CHECK-NEXT: all_reduce
// CHECK-NEXT: exp
// CHECK-NEXT: all_reduce {{.*}} {dp}
// CHECK-NEXT: all_reduce {{.*}} max
stretto.segment @kinds(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %a = stretto.all_reduce %x {group = #tp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %e = stretto.exp %a : tensor<8xf32> -> tensor<8xf32>
  %b = stretto.all_reduce %y {group = #dp, kind = #sum} : tensor<8xf32> -> tensor<8xf32>
  %c = stretto.all_reduce %y {group = #tp, kind = #max} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %e, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
