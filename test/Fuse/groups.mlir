// RUN: stretto-opt %s -fuse | FileCheck %s
// Where groups end: at cycles over a collective, at reductions over rows whose
// result is needed, at transposes of themselves.

// The max is reduced over ranks before the sum can start.
// CHECK-LABEL: stretto.segment @cross_entropy
// CHECK-NEXT: %[[A:.*]]:2 = stretto.launch @{{.*}}(%arg0, %arg1)
// CHECK-NEXT: %[[M:.*]] = stretto.all_reduce %[[A]]#
// CHECK-NEXT: %[[S:.*]] = stretto.launch @{{.*}}exp{{.*}}(%[[M]], %arg0)
// CHECK-NEXT: %[[G:.*]] = stretto.all_reduce %[[S]]
// CHECK-NEXT: stretto.launch @{{.*}}log{{.*}}
// CHECK-NEXT: stretto.yield
stretto.segment @cross_entropy(%x: tensor<8x1024xf32>, %l: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
  %zero = stretto.constant 0.0 : tensor<f32>
  %m0 = stretto.reduce max %x dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %i = stretto.iota %x {dim = 1 : i64, offset = #stretto.offset<mesh<tp = 2>, [tp * 1024]>} : tensor<8x1024xf32> -> tensor<8x1024xi32>
  %lb = stretto.broadcast %l dims [0] : tensor<8xi32> -> tensor<8x1024xi32>
  %c = stretto.compare eq %i, %lb : tensor<8x1024xi32>, tensor<8x1024xi32> -> tensor<8x1024xi1>
  %t0 = stretto.select %c, %x, %zero : tensor<8x1024xi1>, tensor<8x1024xf32>, tensor<f32> -> tensor<8x1024xf32>
  %t = stretto.reduce sum %t0 dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %m = stretto.all_reduce %m0 {group = #stretto.group<mesh<tp = 2>, {tp}>, kind = #stretto<reduce_kind max>} : tensor<8xf32> -> tensor<8xf32>
  %mb = stretto.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x1024xf32>
  %d = stretto.sub %x, %mb : tensor<8x1024xf32>, tensor<8x1024xf32> -> tensor<8x1024xf32>
  %e = stretto.exp %d : tensor<8x1024xf32> -> tensor<8x1024xf32>
  %s0 = stretto.reduce sum %e dims [1] : tensor<8x1024xf32> -> tensor<8xf32>
  %s = stretto.all_reduce %s0 {group = #stretto.group<mesh<tp = 2>, {tp}>, kind = #stretto<reduce_kind sum>} : tensor<8xf32> -> tensor<8xf32>
  %log = stretto.log %s : tensor<8xf32> -> tensor<8xf32>
  %lse = stretto.add %m, %log : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  stretto.yield %lse, %t : tensor<8xf32>, tensor<8xf32>
}

// A sum over rows that every row needs: the second kernel starts after the last row.
// CHECK-LABEL: stretto.segment @column_mean
// CHECK-NEXT: stretto.launch
// CHECK-NEXT: stretto.launch
// CHECK-NEXT: stretto.yield
stretto.segment @column_mean(%x: tensor<512x32xf32>) -> tensor<512x32xf32> attributes {direction = "forward"} {
  %e = stretto.exp %x : tensor<512x32xf32> -> tensor<512x32xf32>
  %r = stretto.reduce sum %e dims [1] : tensor<512x32xf32> -> tensor<512xf32>
  %rb = stretto.broadcast %r dims [0] : tensor<512xf32> -> tensor<512x32xf32>
  %y = stretto.div %e, %rb : tensor<512x32xf32>, tensor<512x32xf32> -> tensor<512x32xf32>
  %s = stretto.reduce sum %y dims [0] : tensor<512x32xf32> -> tensor<32xf32>
  %z = stretto.sub %y, %s : tensor<512x32xf32>, tensor<32xf32> -> tensor<512x32xf32>
  %q = stretto.reduce sum %z dims [1] : tensor<512x32xf32> -> tensor<512xf32>
  %qb = stretto.broadcast %q dims [0] : tensor<512xf32> -> tensor<512x32xf32>
  %w = stretto.mul %z, %qb : tensor<512x32xf32>, tensor<512x32xf32> -> tensor<512x32xf32>
  stretto.yield %w : tensor<512x32xf32>
}

// CHECK-LABEL: stretto.segment @symmetric
// CHECK-NEXT: %[[T:.*]] = stretto.launch @{{.*}}transpose(%arg0)
// CHECK-NEXT: stretto.launch @{{.*}}add(%arg0, %[[T]])
stretto.segment @symmetric(%x: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {direction = "forward"} {
  %t = stretto.transpose %x perm [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  %s = stretto.add %x, %t : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  stretto.yield %s : tensor<8x8xf32>
}

// An argument that is still read keeps its storage.
// CHECK-LABEL: stretto.segment @still_read
// CHECK: stretto.launch @{{.*}} {aliases = array<i64: -1>
// CHECK: stretto.gemm
stretto.segment @still_read(%acc: tensor<8x8xf32>, %g: tensor<8x8xf32>) -> (tensor<8x8xf32> {stretto.alias = 0 : i64}, tensor<8x8xf32>) attributes {direction = "backward"} {
  %s = stretto.add %acc, %g : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %e = stretto.einsum "i j, j k -> i k" %acc, %s : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  stretto.yield %s, %e : tensor<8x8xf32>, tensor<8x8xf32>
}

// Moments too large for a temporary: they are stored in the nest of the new parameter, so all three are updated in place.
// CHECK-LABEL: stretto.segment @large_update
// CHECK: stretto.launch @{{.*}}adamw{{.*}} {aliases = array<i64: 5, 2, 3>
// CHECK-NEXT: stretto.yield
stretto.segment @large_update(%p: tensor<256x256xf32>, %g: tensor<256x256xf32>, %m: tensor<256x256xf32>, %v: tensor<256x256xf32>, %hyper: tensor<4xf32>, %gscale: tensor<f32>, %ok: tensor<f32>)
   -> (tensor<256x256xf32> {stretto.alias = 0 : i64}, tensor<256x256xf32> {stretto.alias = 2 : i64}, tensor<256x256xf32> {stretto.alias = 3 : i64}) attributes {direction = "update"} {
  %q, %m1, %v1 = stretto.adamw %p, %g, %m, %v, %hyper, %gscale, %ok {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64} : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>)
  stretto.yield %q, %m1, %v1 : tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
}

// Sums of arguments come first, those of one group together.
// CHECK-LABEL: stretto.segment @reduce
// CHECK: %[[A:.*]] = stretto.all_reduce %arg0 {{.*}}{dp}
// CHECK-NEXT: %[[C:.*]] = stretto.all_reduce %arg2 {{.*}}{dp}
// CHECK-NEXT: %[[B:.*]] = stretto.all_reduce %arg1 {{.*}}{dp, tp}
// CHECK-NEXT: stretto.launch
// CHECK: stretto.yield %[[A]], %[[B]], %[[C]]
stretto.segment @reduce(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>, %n: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>) attributes {direction = "reduce"} {
  %a1 = stretto.all_reduce %a {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<8xf32> -> tensor<8xf32>
  %a2 = stretto.mul %a1, %a1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %a3 = stretto.reduce sum %a2 dims [0] : tensor<8xf32> -> tensor<f32>
  %n1 = stretto.add %n, %a3 : tensor<f32>, tensor<f32> -> tensor<f32>
  %b1 = stretto.all_reduce %b {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp, tp}>, kind = #stretto<reduce_kind sum>} : tensor<8xf32> -> tensor<8xf32>
  %b2 = stretto.mul %b1, %b1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %b3 = stretto.reduce sum %b2 dims [0] : tensor<8xf32> -> tensor<f32>
  %n2 = stretto.add %n1, %b3 : tensor<f32>, tensor<f32> -> tensor<f32>
  %c1 = stretto.all_reduce %c {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<8xf32> -> tensor<8xf32>
  stretto.yield %a1, %b1, %c1, %n2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>
}

// A rope pairs the elements of its own head dimension, so what pads that dimension is a kernel of its own.
// CHECK-LABEL: stretto.segment @rotated_then_padded
// CHECK: %[[S:.*]] = stretto.launch @{{.*}}rope_mul_reduce(%arg1, %arg2, %arg0)
// CHECK-NEXT: stretto.launch @{{.*}}pad_extent(%[[S]])
// CHECK-NEXT: stretto.yield
stretto.segment @rotated_then_padded(%x: tensor<2x3x1x2xf32>, %dy: tensor<2x3x1x2xf32>, %p: tensor<2x3xi32>) -> tensor<3xf32> attributes {direction = "backward"} {
  %r = stretto.rope %dy, %p {base = 10000.0 : f64, transposed} : tensor<2x3x1x2xf32>, tensor<2x3xi32> -> tensor<2x3x1x2xf32>
  %m = stretto.mul %x, %r : tensor<2x3x1x2xf32>, tensor<2x3x1x2xf32> -> tensor<2x3x1x2xf32>
  %s = stretto.reduce sum %m dims [0, 1, 2] : tensor<2x3x1x2xf32> -> tensor<2xf32>
  %q = stretto.pad_extent %s : tensor<2xf32> -> tensor<3xf32>
  stretto.yield %q : tensor<3xf32>
}
