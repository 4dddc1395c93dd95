// RUN: stretto-opt %s --split-input-file --verify-diagnostics
// Operations that passes make (adjoints, optimizers, library calls) are checked like those that users write.

stretto.segment @dy_is_shaped_like_x(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %dy: tensor<4x6xf32>) -> tensor<4x8xf32>
    attributes {direction = "backward"} {
  // expected-error @below {{dy has the shape [4, 6], expected that of x, [4, 8]}}
  %dx, %dg, %db = stretto.layer_norm_grad %x, %g, %dy {eps = 1.0e-5 : f64}
    : tensor<4x8xf32>, tensor<8xf32>, tensor<4x6xf32> -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  stretto.yield %dx : tensor<4x8xf32>
}

// -----

stretto.segment @gamma_fits(%x: tensor<4x8xf32>, %g: tensor<4xf32>) -> tensor<4x8xf32> attributes {direction = "backward"} {
  // expected-error @below {{scale and shift must have the extent 8 of the last dimension}}
  %dx, %dg = stretto.rms_norm_grad %x, %g, %x {eps = 1.0e-5 : f64}
    : tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4xf32>
  stretto.yield %dx : tensor<4x8xf32>
}

// -----

stretto.segment @eps_of_a_norm(%x: tensor<4x8xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> attributes {direction = "forward"} {
  // expected-error @below {{eps -1.000000e+00 is not a finite number of at least 0}}
  %y = stretto.rms_norm %x, %g {eps = -1.0 : f64} : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  stretto.yield %y : tensor<4x8xf32>
}

// -----

stretto.segment @heads_of_the_adjoint(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>, %l: tensor<2x4x3xf32>) -> tensor<2x3x4x8xf32>
    attributes {direction = "backward"} {
  // expected-error @below {{4 heads do not group over 3 kv heads}}
  %dq, %dk, %dv = stretto.attention_grad %q, %k, %k, %q, %l, %q {scale = 1.0 : f64}
    : tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>, tensor<2x3x4x8xf32>
    -> tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>
  stretto.yield %dq : tensor<2x3x4x8xf32>
}

// -----

stretto.segment @lse_is_by_head(%q: tensor<2x3x4x8xf32>, %l: tensor<2x3x4xf32>) -> tensor<2x3x4x8xf32> attributes {direction = "backward"} {
  // expected-error @below {{lse is 'tensor<2x3x4xf32>', expected the shape [2, 4, 3]}}
  %dq, %dk, %dv = stretto.attention_grad %q, %q, %q, %q, %l, %q {scale = 1.0 : f64}
    : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4x8xf32>
    -> tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>
  stretto.yield %dq : tensor<2x3x4x8xf32>
}

// -----

stretto.segment @samples(%q: tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32> attributes {direction = "forward"} {
  // expected-error @below {{samples is 0, expected at least 1}}
  %o, %l = stretto.attention %q, %q, %q {scale = 1.0 : f64, p = 0.1 : f64, samples = 0 : i64}
    : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
  stretto.yield %o : tensor<2x3x4x8xf32>
}

// -----

stretto.segment @rows_of_the_loss(%x: tensor<4x9xf32>, %t: tensor<4xi32>, %l: tensor<4xf32>, %d: tensor<1xf32>) -> tensor<4x9xf32>
    attributes {direction = "backward"} {
  // expected-error @below {{dloss is 'tensor<1xf32>', expected the shape [4]}}
  %dx = stretto.cross_entropy_grad %x, %t, %l, %d {vocabulary = 9 : i64}
    : tensor<4x9xf32>, tensor<4xi32>, tensor<4xf32>, tensor<1xf32> -> tensor<4x9xf32>
  stretto.yield %dx : tensor<4x9xf32>
}

// -----

stretto.segment @vocabulary(%x: tensor<4x9xf32>, %t: tensor<4xi32>, %l: tensor<4xf32>) -> tensor<4x9xf32> attributes {direction = "backward"} {
  // expected-error @below {{vocabulary is 0, expected at least 1}}
  %dx = stretto.cross_entropy_grad %x, %t, %l, %l {vocabulary = 0 : i64}
    : tensor<4x9xf32>, tensor<4xi32>, tensor<4xf32>, tensor<4xf32> -> tensor<4x9xf32>
  stretto.yield %dx : tensor<4x9xf32>
}

// -----

stretto.segment @moments(%p: tensor<8xf32>, %m: tensor<4xf32>, %h: tensor<4xf32>, %s: tensor<f32>) -> tensor<8xf32> attributes {direction = "update"} {
  // expected-error @below {{m has the shape [4], expected that of param, [8]}}
  %a, %b, %c = stretto.adamw %p, %p, %m, %p, %h, %s, %s {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64}
    : (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  stretto.yield %a : tensor<8xf32>
}

// -----

stretto.segment @betas(%p: tensor<8xf32>, %h: tensor<4xf32>, %s: tensor<f32>) -> tensor<8xf32> attributes {direction = "update"} {
  // expected-error @below {{beta2 1.000000e+00 is not in [0, 1}}
  %a, %b, %c = stretto.adamw %p, %p, %p, %p, %h, %s, %s {beta1 = 0.9 : f64, beta2 = 1.0 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64}
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  stretto.yield %a : tensor<8xf32>
}

// -----

stretto.segment @hyper(%p: tensor<8xf32>, %h: tensor<3xf32>, %s: tensor<f32>) -> tensor<8xf32> attributes {direction = "update"} {
  // expected-error @below {{hyper is 'tensor<3xf32>', expected the shape [4]}}
  %a, %b = stretto.sgd %p, %p, %p, %h, %s, %s {momentum = 0.9 : f64, weight_decay = 0.0 : f64}
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  stretto.yield %a : tensor<8xf32>
}

// -----

stretto.segment @decay(%p: tensor<8xf32>, %h: tensor<4xf32>, %s: tensor<f32>) -> tensor<8xf32> attributes {direction = "update"} {
  // expected-error @below {{weight_decay -1.000000e-01 is not a finite number of at least 0}}
  %a, %b = stretto.sgd %p, %p, %p, %h, %s, %s {momentum = 0.9 : f64, weight_decay = -0.1 : f64}
    : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
  stretto.yield %a : tensor<8xf32>
}

// -----

stretto.segment @product_stays_inside(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> attributes {direction = "forward"} {
  // expected-error @below {{sizes and strides leave b, which has 48 elements}}
  %c = stretto.gemm %a, %b {m = 4 : i64, n = 6 : i64, k = 8 : i64, a_strides = array<i64: 8, 1>, b_strides = array<i64: 7, 1>,
    c_strides = array<i64: 6, 1>, batch = array<i64>, a_batch = array<i64>, b_batch = array<i64>, c_batch = array<i64>}
    : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  stretto.yield %c : tensor<4x6xf32>
}

// -----

stretto.segment @sizes_are_positive(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> attributes {direction = "forward"} {
  // expected-error @below {{sizes must be positive, got m 4, n 6, k 0, batch []}}
  %c = stretto.gemm %a, %b {m = 4 : i64, n = 6 : i64, k = 0 : i64, a_strides = array<i64: 8, 1>, b_strides = array<i64: 6, 1>,
    c_strides = array<i64: 6, 1>, batch = array<i64>, a_batch = array<i64>, b_batch = array<i64>, c_batch = array<i64>}
    : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  stretto.yield %c : tensor<4x6xf32>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}], padded [6]>
#more = #stretto.dist<mesh<tp = 2>, [{tp}], padded [8]>
stretto.segment @padding_of_a_sharded_dimension(%x: tensor<5xf32, #rows>) -> tensor<5xf32, #more> attributes {direction = "forward"} {
  // expected-error @below {{changes the padding of dimension 0, which is sharded over {tp}: 5xf32 [{tp}], padded [6] to 5xf32 [{tp}], padded [8]; gather it before}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{tp}], padded [6] -> [{tp}], padded [8]}}
  %y = stretto.pad_extent %x : tensor<5xf32, #rows> -> tensor<5xf32, #more>
  stretto.yield %y : tensor<5xf32, #more>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}]>
#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
stretto.segment @pad_is_no_slice(%x: tensor<4xf32, #whole>) -> tensor<4xf32, #rows> attributes {direction = "forward"} {
  // expected-error @below {{may change nothing but padded extents: 4xf32 [{}] to 4xf32 [{tp}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}] -> [{tp}]}}
  %y = stretto.pad_extent %x : tensor<4xf32, #whole> -> tensor<4xf32, #rows>
  stretto.yield %y : tensor<4xf32, #rows>
}

// -----

stretto.segment @mask(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{dimension 1 is outside rank 1}}
  %y = stretto.mask_pad %x {dim = 1 : i64, size = 3 : i64, value = 0.0 : f64} : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.segment @samples_of_dropout(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{sample_dim 1 is outside rank 1}}
  %y = stretto.dropout %x {p = 0.5 : f64, sample_dim = 1 : i64} : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.segment @choice(%c: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{the condition is 'f32', expected i1}}
  %y = stretto.select %c, %x, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.segment @order(%c: tensor<4xi32>, %x: tensor<4xf32>) -> tensor<4xi1> attributes {direction = "forward"} {
  // expected-error @below {{operands are 'i32' and 'f32'; use stretto.convert}}
  %y = stretto.compare lt %c, %x : tensor<4xi32>, tensor<4xf32> -> tensor<4xi1>
  stretto.yield %y : tensor<4xi1>
}

// -----

stretto.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  stretto.yield %x : tensor<4xf32>
}
stretto.segment @launch(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{result 0 is an alias of operand 1 of 1}}
  %y = stretto.launch @k(%x) {aliases = array<i64: 1>, scalars = []} : (tensor<4xf32>) -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  stretto.yield %x : tensor<4xf32>
}
stretto.segment @scalars(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{scalar "sead" is no #stretto.offset, integer, "seed", "step", "instance" or "microbatch"}}
  %y = stretto.launch @k(%x) {aliases = array<i64: -1>, scalars = ["sead"]} : (tensor<4xf32>) -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

stretto.step @slices(%x: tensor<2x4xf32>, %s: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{the body takes 3xf32 as a slice of 2x4xf32; a slice has the shape without its leading dimension}}
  %r = "stretto.microbatches"(%x, %s) <{count = 2 : i64, operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<3xf32>, %c: tensor<f32>):
    stretto.yield %c : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  stretto.yield %r : tensor<f32>
}

// -----

stretto.step @carried(%x: tensor<2x4xf32>, %s: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{carried value 0 enters as f32, but the body takes 1xf32; this would fit: the body takes f32}}
  %r = "stretto.microbatches"(%x, %s) <{count = 2 : i64, operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<4xf32>, %c: tensor<1xf32>):
    stretto.yield %s : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  stretto.yield %r : tensor<f32>
}

// -----

stretto.segment @no_such_dimension(%x: tensor<2x11xf32>) -> tensor<2xi32> attributes {direction = "forward"} {
  // expected-error @below {{dimension 2 is outside rank 2}}
  %a = stretto.arg_reduce max %x dim 2 : tensor<2x11xf32> -> tensor<2xi32>
  stretto.yield %a : tensor<2xi32>
}

// -----

// What is wrong without distributions is told before a rule is asked about them.
#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#scalar = #stretto.dist<mesh<tp = 2>, []>
stretto.segment @rule_of_nonsense(%x: tensor<4x8xf32, #whole>, %i: tensor<i32, #scalar>) -> tensor<4x2xf32, #whole>
    attributes {direction = "forward"} {
  // expected-error @below {{dimension 7 is outside rank 2}}
  %a = stretto.dynamic_slice %x[%i] dims [7] : tensor<4x8xf32, #whole>, tensor<i32, #scalar> -> tensor<4x2xf32, #whole>
  stretto.yield %a : tensor<4x2xf32, #whole>
}

// -----

stretto.segment @too_large(%x: tensor<4x1125899906842624xf32>) -> tensor<4x1125899906842624xf32> attributes {direction = "forward"} {
  // expected-error @below {{operand 0 is 4x1125899906842624xf32; result 0 is 4x1125899906842624xf32; a tensor has at most 2^50 elements}}
  %a = stretto.exp %x : tensor<4x1125899906842624xf32> -> tensor<4x1125899906842624xf32>
  stretto.yield %a : tensor<4x1125899906842624xf32>
}

// -----

// Extents that cannot be counted are no extents.
stretto.segment @pad_overflows(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{pad of dimension 0 by 9223372036854775807 and 1 with interior 0 leaves no extent of 4}}
  // expected-error @below {{failed to infer returned types}}
  %a = stretto.pad %x with 0.0 dims [0] low [9223372036854775807] high [1] interior [0] : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %a : tensor<4xf32>
}
