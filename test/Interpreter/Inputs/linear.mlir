// A linear model by hand: loss = sum mask (x . w)^2 / sum mask on two micro-batches of
// four samples, w of 3 elements, SGD.
module attributes {stretto.recipe = {lr = 0.1 : f64, warmup = 0 : i64, decay = "constant"}} {
stretto.segment @bwd(%x: tensor<4x3xf32>, %mask: tensor<4xf32>, %w: tensor<3xf32>, %inv: tensor<f32>, %acc: tensor<3xf32>, %loss: tensor<f32>)
    -> (tensor<3xf32> {stretto.role = "accumulator"}, tensor<f32>) attributes {direction = "backward"} {
  %y = stretto.einsum "b e, e -> b" %x, %w : tensor<4x3xf32>, tensor<3xf32> -> tensor<4xf32>
  %m = stretto.mul %y, %mask : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %sq = stretto.mul %m, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %s = stretto.reduce sum %sq dims [0] : tensor<4xf32> -> tensor<f32>
  %sn = stretto.mul %s, %inv : tensor<f32>, tensor<f32> -> tensor<f32>
  %loss1 = stretto.add %loss, %sn : tensor<f32>, tensor<f32> -> tensor<f32>
  %two = stretto.constant 2.0 : tensor<f32>
  %c = stretto.mul %two, %inv : tensor<f32>, tensor<f32> -> tensor<f32>
  %d = stretto.mul %m, %c : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %g = stretto.einsum "b, b e -> e" %d, %x : tensor<4xf32>, tensor<4x3xf32> -> tensor<3xf32>
  %acc1 = stretto.add %acc, %g : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  stretto.yield %acc1, %loss1 : tensor<3xf32>, tensor<f32>
}
stretto.segment @count(%mask: tensor<4xf32>, %n: tensor<f32>) -> (tensor<f32>) attributes {direction = "count"} {
  %s = stretto.reduce sum %mask dims [0] : tensor<4xf32> -> tensor<f32>
  %r = stretto.add %s, %n : tensor<f32>, tensor<f32> -> tensor<f32>
  stretto.yield %r : tensor<f32>
}
stretto.segment @seed(%n: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {direction = "count"} {
  %one = stretto.constant 1.0 : tensor<f32>
  %inv = stretto.div %one, %n : tensor<f32>, tensor<f32> -> tensor<f32>
  stretto.yield %inv, %n : tensor<f32>, tensor<f32>
}
stretto.segment @reduce(%acc: tensor<3xf32>, %loss: tensor<f32>) -> (tensor<3xf32> {stretto.role = "grad"}, tensor<f32>) attributes {direction = "reduce"} {
  stretto.yield %acc, %loss : tensor<3xf32>, tensor<f32>
}
stretto.segment @update(%w: tensor<3xf32>, %g: tensor<3xf32>, %m: tensor<3xf32>, %h: tensor<4xf32>) -> (tensor<3xf32>, tensor<3xf32>) attributes {direction = "update"} {
  %one = stretto.constant 1.0 : tensor<f32>
  %w1, %m1 = stretto.sgd %w, %g, %m, %h, %one, %one {momentum = 0.5 : f64, weight_decay = 0.01 : f64}
    : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  stretto.yield %w1, %m1 : tensor<3xf32>, tensor<3xf32>
}
stretto.step @train(
    %w: tensor<3xf32> {stretto.binding = "param:w", stretto.init = #stretto.init<normal(0.5)>},
    %m: tensor<3xf32> {stretto.binding = "moment1:w"},
    %x: tensor<2x4x3xf32> {stretto.binding = "input:x"},
    %mask: tensor<2x4xf32> {stretto.binding = "input:mask"},
    %h: tensor<4xf32> {stretto.binding = "hyper"})
    -> (tensor<3xf32> {stretto.binding = "param:w"}, tensor<3xf32> {stretto.binding = "moment1:w"}, tensor<3xf32> {stretto.binding = "grad:w"},
        tensor<f32> {stretto.binding = "output:loss"}, tensor<f32> {stretto.binding = "output:count"}) {
  %zero = stretto.zeros : tensor<f32>
  %zeros = stretto.zeros : tensor<3xf32>
  %n = stretto.microbatches 2 inputs(%mask) carried(%zero) : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%mk: tensor<4xf32>, %acc: tensor<f32>):
    %c = stretto.invoke @count(%mk, %acc) instance "count" : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    stretto.yield %c : tensor<f32>
  }
  %inv, %count = stretto.invoke @seed(%n) instance "seed" : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %acc:2 = stretto.microbatches 2 inputs(%x, %mask) carried(%zeros, %zero) : (tensor<2x4x3xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  ^bb0(%xk: tensor<4x3xf32>, %mk: tensor<4xf32>, %a: tensor<3xf32>, %l: tensor<f32>):
    %r:2 = stretto.invoke @bwd(%xk, %mk, %w, %inv, %a, %l) instance "linear" : (tensor<4x3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>)
    stretto.yield %r#0, %r#1 : tensor<3xf32>, tensor<f32>
  }
  %g, %loss = stretto.invoke @reduce(%acc#0, %acc#1) instance "linear" : (tensor<3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<f32>)
  %w1, %m1 = stretto.invoke @update(%w, %g, %m, %h) instance "linear" : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  stretto.yield %w1, %m1, %g, %loss, %count : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>
}
}
