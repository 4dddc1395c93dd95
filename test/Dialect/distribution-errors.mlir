// RUN: stretto-opt %s --split-input-file --verify-diagnostics
// A distribution is a type: what does not follow from the operation's sharding rule is refused, with what would fit.

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
stretto.segment @missing_all_reduce(%x: tensor<4x8xf32, #cols>, %w: tensor<8x6xf32, #rows>) -> tensor<4x6xf32, #whole>
    attributes {direction = "forward"} {
  // The contraction is over tp: every rank holds a part of the sum.
  // expected-error @below {{result 0, 4x6xf32 [{}, {}], is partial over {}, expected sum {tp}}}
  // expected-note @below {{this would fit: result 0 is [{}, {}], sum {tp}, then stretto.reshard %0 : [{}, {}], sum {tp} -> [{}, {}]}}
  %y = stretto.einsum "a b, b c -> a c" %x, %w : tensor<4x8xf32, #cols>, tensor<8x6xf32, #rows> -> tensor<4x6xf32, #whole>
  stretto.yield %y : tensor<4x6xf32, #whole>
}

// -----

#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {}], sum {tp} -> [{}, {}] for operand 0}}
stretto.segment @nonlinear_of_a_partial_sum(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #sum> attributes {direction = "forward"} {
  // expected-error @below {{is not linear in its partial operands (operand 0, 4x8xf32 [{}, {}], sum {tp}); an all-reduce over {tp} is missing}}
  // expected-note @below {{this would fit: result 0 is [{}, {}], then stretto.reshard %0 : [{}, {}] -> [{}, {}], sum {tp}}}
  %y = stretto.exp %x : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #sum>
  stretto.yield %y : tensor<4x8xf32, #sum>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {}], sum {tp} -> [{}, {}] for operand 0}}
stretto.segment @half_partial_sum(%x: tensor<4x8xf32, #sum>, %b: tensor<4x8xf32, #whole>) -> tensor<4x8xf32, #sum>
    attributes {direction = "forward"} {
  // A bias added on every rank would be counted twice.
  // expected-error @below {{is not linear in its partial operands}}
  // expected-note @below {{this would fit: result 0 is [{}, {}], then stretto.reshard %0 : [{}, {}] -> [{}, {}], sum {tp}}}
  %y = stretto.add %x, %b : tensor<4x8xf32, #sum>, tensor<4x8xf32, #whole> -> tensor<4x8xf32, #sum>
  stretto.yield %y : tensor<4x8xf32, #sum>
}

// -----

#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {tp}] -> [{}, {}] for operand 0}}
stretto.segment @blocked_dimension(%x: tensor<4x8xf32, #cols>) -> tensor<4x8xf32, #cols> attributes {direction = "forward"} {
  // expected-error @below {{operand 0, 4x8xf32 [{}, {tp}], has dimension 1 on {tp}, but the operation needs it whole on every rank}}
  // expected-note @below {{this would fit: result 0 is [{}, {}], then stretto.reshard %0 : [{}, {}] -> [{}, {tp}]}}
  %y = stretto.softmax %x {dim = 1 : i64} : tensor<4x8xf32, #cols> -> tensor<4x8xf32, #cols>
  stretto.yield %y : tensor<4x8xf32, #cols>
}

// -----

#rows = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg1 : [{}, {tp}] -> [{tp}, {}] for operand 1}}
stretto.segment @operands_disagree(%x: tensor<4x8xf32, #rows>, %y: tensor<4x8xf32, #cols>) -> tensor<4x8xf32, #rows>
    attributes {direction = "forward"} {
  // expected-error @below {{operand 1, 4x8xf32 [{}, {tp}], has dimension 0 on {}, but operand 0, 4x8xf32 [{tp}, {}], has the same in dimension 0 on {tp}}}
  %z = stretto.add %x, %y : tensor<4x8xf32, #rows>, tensor<4x8xf32, #cols> -> tensor<4x8xf32, #rows>
  stretto.yield %z : tensor<4x8xf32, #rows>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
stretto.segment @mixed(%x: tensor<4x8xf32, #whole>) -> tensor<4x8xf32> attributes {direction = "forward"} {
  // expected-error @below {{mixes values with and without a distribution: operand 0, 4x8xf32 [{}, {}], has one, result 0, 4x8xf32, has none; give all of them one (pass assign does) or none}}
  %y = stretto.exp %x : tensor<4x8xf32, #whole> -> tensor<4x8xf32>
  stretto.yield %y : tensor<4x8xf32>
}

// -----

// The product has tp on the rows of x and on the columns of w: one of them gives way.
#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg1 : [{}, {tp}] -> [{}, {}] for operand 1}}
stretto.segment @one_axis_twice(%x: tensor<4x8xf32, #rows>, %w: tensor<8x6xf32, #cols>) -> tensor<4x6xf32, #rows> attributes {direction = "forward"} {
  // expected-error @below {{gives an axis to two of its factors: {tp} (dimension 0 of operand 0, 4x8xf32 [{tp}, {}]) and {tp} (dimension 1 of operand 1, 8x6xf32 [{}, {tp}])}}
  %y = stretto.einsum "a b, b c -> a c" %x, %w : tensor<4x8xf32, #rows>, tensor<8x6xf32, #cols> -> tensor<4x6xf32, #rows>
  stretto.yield %y : tensor<4x6xf32, #rows>
}

// -----

#a = #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {dp}>
#b = #stretto.dist<mesh<dp = 2, tp = 2>, [{}], sum {tp}>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{}], sum {dp} -> [{}] for operand 0}}
// expected-note @below {{this would fit: stretto.reshard %arg1 : [{}], sum {tp} -> [{}] for operand 1}}
stretto.segment @different_sums(%x: tensor<4xf32, #a>, %y: tensor<4xf32, #b>) -> tensor<4xf32, #a> attributes {direction = "forward"} {
  // expected-error @below {{has operands that are partial over different axes: operand 0, 4xf32 [{}], sum {dp}, over {dp} and operand 1, 4xf32 [{}], sum {tp}, over {tp}}}
  // expected-note @below {{this would fit: result 0 is [{}], then stretto.reshard %0 : [{}] -> [{}], sum {dp}}}
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

// -----

#a = #stretto.dist<mesh<tp = 2>, [{tp}]>
#b = #stretto.dist<mesh<dp = 2>, [{dp}]>
stretto.segment @two_meshes(%x: tensor<4xf32, #a>, %y: tensor<4xf32, #b>) -> tensor<4xf32, #a> attributes {direction = "forward"} {
  // expected-error @below {{spans two meshes: operand 0, 4xf32 [{tp}], lies on the mesh (tp = 2), operand 1, 4xf32 [{dp}], lies on the mesh (dp = 2); no reshard leads from one to the other}}
  %z = stretto.add %x, %y : tensor<4xf32, #a>, tensor<4xf32, #b> -> tensor<4xf32, #a>
  stretto.yield %z : tensor<4xf32, #a>
}

// -----

// The parts of a compound dimension are 3 and 4: two ranks cannot share the 3.
#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
#split = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{tp}] -> [{}] for operand 0}}
stretto.segment @parts(%x: tensor<12xf32, #rows>) -> tensor<3x4xf32, #split> attributes {direction = "forward"} {
  // expected-error @below {{operand 0, 12xf32 [{tp}], has dimension 0 on {tp}, which does not split over its parts, 3 x 4}}
  // expected-note @below {{this would fit: result 0 is [{}, {}], then stretto.reshard %0 : [{}, {}] -> [{}, {tp}]}}
  %z = stretto.reshape %x : tensor<12xf32, #rows> -> tensor<3x4xf32, #split>
  stretto.yield %z : tensor<3x4xf32, #split>
}

// -----

#ten = #stretto.dist<mesh<tp = 2>, [{tp}], padded [10]>
#plain = #stretto.dist<mesh<tp = 2>, [{tp}]>
// expected-note @below {{this would fit: stretto.reshard %arg1 : [{tp}] -> [{tp}], padded [10] for operand 1}}
stretto.segment @padding_differs(%x: tensor<8xf32, #ten>, %y: tensor<8xf32, #plain>) -> tensor<8xf32, #ten> attributes {direction = "forward"} {
  // expected-error @below {{operand 1, 8xf32 [{tp}], has dimension 0 on {tp}, but operand 0, 8xf32 [{tp}], padded [10], has the same in dimension 0 on {tp}, padded to 10}}
  %z = stretto.add %x, %y : tensor<8xf32, #ten>, tensor<8xf32, #plain> -> tensor<8xf32, #ten>
  stretto.yield %z : tensor<8xf32, #ten>
}

// -----

#max = #stretto.dist<mesh<tp = 2>, [{}], max {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{}], max {tp} -> [{}] for operand 0}}
stretto.segment @partial_max(%x: tensor<8xf32, #max>) -> tensor<8xf32, #max> attributes {direction = "forward"} {
  // expected-error @below {{operand 0, 8xf32 [{}], max {tp}, is a partial max, of which no operation but its reduction makes sense}}
  // expected-note @below {{this would fit: result 0 is [{}], from which no reshard leads to [{}], max {tp}}}
  %z = stretto.neg %x : tensor<8xf32, #max> -> tensor<8xf32, #max>
  stretto.yield %z : tensor<8xf32, #max>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
stretto.segment @shape_of_the_result(%x: tensor<4x8xf32, #whole>) -> tensor<4x6xf32, #whole> attributes {direction = "forward"} {
  // expected-error @below {{makes 4x8xf32 of its operands, but its results are 4x6xf32 [{}, {}]; write the shapes and element types of the former}}
  %z = stretto.neg %x : tensor<4x8xf32, #whole> -> tensor<4x6xf32, #whole>
  stretto.yield %z : tensor<4x6xf32, #whole>
}
