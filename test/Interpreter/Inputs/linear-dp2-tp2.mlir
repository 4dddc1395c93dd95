// linear.mlir on dp 2 x tp 2, localized by hand: samples over dp, the 3 elements of w
// padded to 4 over tp.
module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 2>, stretto.recipe = {lr = 0.1 : f64, warmup = 0 : i64, decay = "constant"}} {
stretto.segment @bwd(%x: tensor<2x2xf32>, %mask: tensor<2xf32>, %w: tensor<2xf32>, %inv: tensor<f32>, %acc: tensor<2xf32>, %loss: tensor<f32>)
    -> (tensor<2xf32> {stretto.role = "accumulator"}, tensor<f32>) attributes {direction = "backward"} {
  %yp = stretto.einsum "b e, e -> b" %x, %w : tensor<2x2xf32>, tensor<2xf32> -> tensor<2xf32>
  %y = stretto.all_reduce %yp {group = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>, kind = #stretto<reduce_kind sum>} : tensor<2xf32> -> tensor<2xf32>
  %m = stretto.mul %y, %mask : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %sq = stretto.mul %m, %y : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %s = stretto.reduce sum %sq dims [0] : tensor<2xf32> -> tensor<f32>
  %sn = stretto.mul %s, %inv : tensor<f32>, tensor<f32> -> tensor<f32>
  %loss1 = stretto.add %loss, %sn : tensor<f32>, tensor<f32> -> tensor<f32>
  %two = stretto.constant 2.0 : tensor<f32>
  %c = stretto.mul %two, %inv : tensor<f32>, tensor<f32> -> tensor<f32>
  %d = stretto.mul %m, %c : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %g = stretto.einsum "b, b e -> e" %d, %x : tensor<2xf32>, tensor<2x2xf32> -> tensor<2xf32>
  %acc1 = stretto.add %acc, %g : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  stretto.yield %acc1, %loss1 : tensor<2xf32>, tensor<f32>
}
stretto.segment @count(%mask: tensor<2xf32>, %n: tensor<f32>) -> (tensor<f32>) attributes {direction = "count"} {
  %s = stretto.reduce sum %mask dims [0] : tensor<2xf32> -> tensor<f32>
  %r = stretto.add %s, %n : tensor<f32>, tensor<f32> -> tensor<f32>
  stretto.yield %r : tensor<f32>
}
stretto.segment @seed(%n: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {direction = "count"} {
  %one = stretto.constant 1.0 : tensor<f32>
  %all = stretto.all_reduce %n {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<f32> -> tensor<f32>
  %inv = stretto.div %one, %all : tensor<f32>, tensor<f32> -> tensor<f32>
  stretto.yield %inv, %all : tensor<f32>, tensor<f32>
}
stretto.segment @reduce(%acc: tensor<2xf32>, %loss: tensor<f32>) -> (tensor<2xf32> {stretto.role = "grad"}, tensor<f32>) attributes {direction = "reduce"} {
  %g = stretto.all_reduce %acc {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<2xf32> -> tensor<2xf32>
  %l = stretto.all_reduce %loss {group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>, kind = #stretto<reduce_kind sum>} : tensor<f32> -> tensor<f32>
  stretto.yield %g, %l : tensor<2xf32>, tensor<f32>
}
stretto.segment @update(%w: tensor<2xf32>, %g: tensor<2xf32>, %m: tensor<2xf32>, %h: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {direction = "update"} {
  %one = stretto.constant 1.0 : tensor<f32>
  %w1, %m1 = stretto.sgd %w, %g, %m, %h, %one, %one {momentum = 0.5 : f64, weight_decay = 0.01 : f64}
    : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  stretto.yield %w1, %m1 : tensor<2xf32>, tensor<2xf32>
}
stretto.step @train(
    %w: tensor<2xf32> {stretto.binding = "param:w", stretto.init = #stretto.init<normal(0.5)>,
      stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}], padded [4]>, stretto.global_shape = array<i64: 3>},
    %m: tensor<2xf32> {stretto.binding = "moment1:w",
      stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}], padded [4]>, stretto.global_shape = array<i64: 3>},
    %x: tensor<2x2x2xf32> {stretto.binding = "input:x",
      stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {dp}, {tp}], padded [0, 0, 4]>, stretto.global_shape = array<i64: 2, 4, 3>},
    %mask: tensor<2x2xf32> {stretto.binding = "input:mask",
      stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {dp}]>, stretto.global_shape = array<i64: 2, 4>},
    %h: tensor<4xf32> {stretto.binding = "hyper", stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{}]>, stretto.global_shape = array<i64: 4>})
    -> (tensor<2xf32> {stretto.binding = "param:w", stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}], padded [4]>, stretto.global_shape = array<i64: 3>},
        tensor<2xf32> {stretto.binding = "moment1:w", stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}], padded [4]>, stretto.global_shape = array<i64: 3>},
        tensor<2xf32> {stretto.binding = "grad:w", stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}], padded [4]>, stretto.global_shape = array<i64: 3>},
        tensor<f32> {stretto.binding = "output:loss", stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, []>, stretto.global_shape = array<i64>},
        tensor<f32> {stretto.binding = "output:count", stretto.dist = #stretto.dist<mesh<dp = 2, tp = 2>, []>, stretto.global_shape = array<i64>}) {
  %zero = stretto.zeros : tensor<f32>
  %zeros = stretto.zeros : tensor<2xf32>
  %n = stretto.microbatches 2 inputs(%mask) carried(%zero) : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%mk: tensor<2xf32>, %acc: tensor<f32>):
    %c = stretto.invoke @count(%mk, %acc) instance "count" : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    stretto.yield %c : tensor<f32>
  }
  %inv, %count = stretto.invoke @seed(%n) instance "seed" : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %acc:2 = stretto.microbatches 2 inputs(%x, %mask) carried(%zeros, %zero) : (tensor<2x2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>) {
  ^bb0(%xk: tensor<2x2xf32>, %mk: tensor<2xf32>, %a: tensor<2xf32>, %l: tensor<f32>):
    %r:2 = stretto.invoke @bwd(%xk, %mk, %w, %inv, %a, %l) instance "linear" : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
    stretto.yield %r#0, %r#1 : tensor<2xf32>, tensor<f32>
  }
  %g, %loss = stretto.invoke @reduce(%acc#0, %acc#1) instance "linear" : (tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
  %w1, %m1 = stretto.invoke @update(%w, %g, %m, %h) instance "linear" : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  stretto.yield %w1, %m1, %g, %loss, %count : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>
}
}
