// RUN: stretto-opt %s --split-input-file --verify-diagnostics
// A distribution is a type: what does not follow from the operation's sharding rule is refused, with what would fit.

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
stretto.segment @missing_all_reduce(%x: tensor<4x8xf32, #cols>, %w: tensor<8x6xf32, #rows>) -> tensor<4x6xf32, #whole>
    attributes {direction = "forward"} {
  // The contraction is over tp: every rank holds a part of the sum.
  // expected-error @below {{result 0 is partial over {}, expected sum {tp}}}
  // expected-note @below {{this would fit: the result is 'tensor<4x6xf32, #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>>', then stretto.reshard %0 : tensor<4x6xf32, #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>> -> tensor<4x6xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>}}
  %y = stretto.einsum "a b, b c -> a c" %x, %w : tensor<4x8xf32, #cols>, tensor<8x6xf32, #rows> -> tensor<4x6xf32, #whole>
  stretto.yield %y : tensor<4x6xf32, #whole>
}

// -----

#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
// expected-note @below {{this would fit: stretto.reshard %arg0 : tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>> -> tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>}}
stretto.segment @nonlinear_of_a_partial_sum(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #sum> attributes {direction = "forward"} {
  // expected-error @below {{is not linear in its partial operands (partial over {tp}); an all-reduce is missing}}
  %y = stretto.exp %x : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #sum>
  stretto.yield %y : tensor<4x8xf32, #sum>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
// expected-note @below {{this would fit: stretto.reshard %arg0 : tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>> ->}}
stretto.segment @half_partial_sum(%x: tensor<4x8xf32, #sum>, %b: tensor<4x8xf32, #whole>) -> tensor<4x8xf32, #sum>
    attributes {direction = "forward"} {
  // A bias added on every rank would be counted twice.
  // expected-error @below {{is not linear in its partial operands}}
  %y = stretto.add %x, %b : tensor<4x8xf32, #sum>, tensor<4x8xf32, #whole> -> tensor<4x8xf32, #sum>
  stretto.yield %y : tensor<4x8xf32, #sum>
}

// -----

#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg0 : tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {tp}]>> -> tensor<4x8xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>}}
stretto.segment @blocked_dimension(%x: tensor<4x8xf32, #cols>) -> tensor<4x8xf32, #cols> attributes {direction = "forward"} {
  // expected-error @below {{operand 0: dimension 1 must be whole, but lies on {tp}}}
  %y = stretto.softmax %x {dim = 1 : i64} : tensor<4x8xf32, #cols> -> tensor<4x8xf32, #cols>
  stretto.yield %y : tensor<4x8xf32, #cols>
}

// -----

#rows = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg1 : tensor<4x8xf32, #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {tp}]>> -> tensor<4x8xf32, #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}, {}]>>}}
stretto.segment @operands_disagree(%x: tensor<4x8xf32, #rows>, %y: tensor<4x8xf32, #cols>) -> tensor<4x8xf32, #rows>
    attributes {direction = "forward"} {
  // expected-error @below {{elsewhere in the operation the same factor lies on {tp}}}
  %z = stretto.add %x, %y : tensor<4x8xf32, #rows>, tensor<4x8xf32, #cols> -> tensor<4x8xf32, #rows>
  stretto.yield %z : tensor<4x8xf32, #rows>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
stretto.segment @mixed(%x: tensor<4x8xf32, #whole>) -> tensor<4x8xf32> attributes {direction = "forward"} {
  // expected-error @below {{mixes values with and without a distribution: operand 0 has one, result 0 has none; give all of them one (pass assign does) or none}}
  %y = stretto.exp %x : tensor<4x8xf32, #whole> -> tensor<4x8xf32>
  stretto.yield %y : tensor<4x8xf32>
}

// -----

// The product has tp on the rows of x and on the columns of w: one of them gives way.
#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg1 : tensor<8x6xf32, #stretto.dist<mesh<tp = 2>, [{}, {tp}]>> -> tensor<8x6xf32, #stretto.dist<mesh<tp = 2>, [{}, {}]>>}}
stretto.segment @one_axis_twice(%x: tensor<4x8xf32, #rows>, %w: tensor<8x6xf32, #cols>) -> tensor<4x6xf32, #rows> attributes {direction = "forward"} {
  // expected-error @below {{gives an axis of {tp} to two of its factors}}
  %y = stretto.einsum "a b, b c -> a c" %x, %w : tensor<4x8xf32, #rows>, tensor<8x6xf32, #cols> -> tensor<4x6xf32, #rows>
  stretto.yield %y : tensor<4x6xf32, #rows>
}

// -----

#a = #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {dp}>
#b = #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {tp}>
// expected-note @below {{this would fit: stretto.reshard %arg0 : tensor<4xf32, #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {dp}>> -> tensor<4xf32, #stretto.dist<mesh<dp = 2, tp = 2>, [{}]>>}}
stretto.segment @different_sums(%x: tensor<4xf32, #a>, %y: tensor<4xf32, #b>) -> tensor<4xf32, #a> attributes {direction = "forward"} {
  // expected-error @below {{operands are partial over different axes: operand 0 over {dp}, operand 1 over {tp}}}
  %z = stretto.add %x, %y : tensor<4xf32, #a>, tensor<4xf32, #b> -> tensor<4xf32, #a>
  stretto.yield %z : tensor<4xf32, #a>
}

// -----

// expected-error @below {{axis 'tp' is used twice in one distribution}}
#twice = #stretto.dist<mesh<tp = 2>, [{tp}, {tp}]>

// -----

// expected-error @below {{sub-axis (1)3 does not divide axis 'tp' of size 4}}
#odd = #stretto.dist<mesh<tp = 4>, [{tp:(1)3}]>

// -----

// expected-error @below {{padded extent 9 of dimension 0 does not divide over 2 shards}}
#padding = #stretto.dist<mesh<tp = 2>, [{tp}], padded [9]>

// -----

// expected-error @below {{sub-axes (1)2 and (3)2 of axis 'tp' do not align: 3 is no multiple of 2}}
#clash = #stretto.dist<mesh<tp = 6>, [{tp:(3)2}, {tp:(1)2}]>
