// RUN: stretto-opt %s --split-input-file --verify-diagnostics
// On distributed types a collective must do to the distribution what its group does.

#sum = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {}], sum {dp, tp}>
#left = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {}], sum {dp}>
#whole = #stretto.dist<mesh<dp = 2, tp = 2>, [{}, {}]>
#group = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>
stretto.segment @an_axis_is_left(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #whole> attributes {direction = "forward"} {
  // expected-error @below {{over {tp} makes of 4x8xf32 [{}, {}], sum {dp, tp} [{}, {}], sum {dp}, but the result is 4x8xf32 [{}, {}]}}
  // expected-note @below {{this would fit: the result is [{}, {}], sum {dp}}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {}], sum {dp, tp} -> [{}, {}] instead, of which pass plan-reshards makes collectives}}
  %y = stretto.all_reduce %x {group = #group, kind = #stretto<reduce_kind sum>} : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #whole>
  stretto.yield %y : tensor<4x8xf32, #whole>
}

// -----

#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @reduced_twice(%x: tensor<4x8xf32, #whole>) -> tensor<4x8xf32, #whole> attributes {direction = "forward"} {
  // expected-error @below {{reduces over {tp}, but its operand is partial over {}: 4x8xf32 [{}, {}] to 4x8xf32 [{}, {}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {}] -> [{}, {}] instead}}
  %y = stretto.all_reduce %x {group = #group, kind = #stretto<reduce_kind sum>} : tensor<4x8xf32, #whole> -> tensor<4x8xf32, #whole>
  stretto.yield %y : tensor<4x8xf32, #whole>
}

// -----

#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}, {}]>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @largest_of_terms(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #whole> attributes {direction = "forward"} {
  // expected-error @below {{takes a max, but its operand is a partial sum: 4x8xf32 [{}, {}], sum {tp} to 4x8xf32 [{}, {}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {}], sum {tp} -> [{}, {}] instead}}
  %y = stretto.all_reduce %x {group = #group, kind = #stretto<reduce_kind max>} : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #whole>
  stretto.yield %y : tensor<4x8xf32, #whole>
}

// -----

#both = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp, tp}, {}]>
#tp = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp}, {}]>
#group = #stretto.group<mesh<dp = 2, tp = 2>, {dp}>
stretto.segment @gathers_the_major_axis(%x: tensor<4x8xf32, #both>) -> tensor<4x8xf32, #tp> attributes {direction = "forward"} {
  // expected-error @below {{gathers dimension 0 over {dp}, which are not the last axes of {dp, tp}: 4x8xf32 [{dp, tp}, {}] to 4x8xf32 [{tp}, {}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{dp, tp}, {}] -> [{tp}, {}] instead}}
  %y = stretto.all_gather %x {group = #group, dim = 0 : i64} : tensor<4x8xf32, #both> -> tensor<4x8xf32, #tp>
  stretto.yield %y : tensor<4x8xf32, #tp>
}

// -----

#sum = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp}, {}], sum {tp}>
#major = #stretto.dist<mesh<dp = 2, tp = 2>, [{tp, dp}, {}]>
#group = #stretto.group<mesh<dp = 2, tp = 2>, {tp}>
stretto.segment @scatters_minor(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #major> attributes {direction = "forward"} {
  // expected-error @below {{over {tp} makes of 4x8xf32 [{dp}, {}], sum {tp} [{dp, tp}, {}], but the result is 4x8xf32 [{tp, dp}, {}]}}
  // expected-note @below {{this would fit: the result is [{dp, tp}, {}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{dp}, {}], sum {tp} -> [{tp, dp}, {}] instead}}
  %y = stretto.reduce_scatter %x {group = #group, kind = #stretto<reduce_kind sum>, dim = 0 : i64} : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #major>
  stretto.yield %y : tensor<4x8xf32, #major>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @goes_nowhere(%x: tensor<4x8xf32, #rows>) -> tensor<4x8xf32, #rows> attributes {direction = "forward"} {
  // expected-error @below {{over {tp} makes of 4x8xf32 [{tp}, {}] [{}, {tp}], but the result is 4x8xf32 [{tp}, {}]}}
  // expected-note @below {{this would fit: the result is [{}, {tp}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{tp}, {}] -> [{tp}, {}] instead}}
  %y = stretto.all_to_all %x {group = #group, split_dim = 1 : i64, concat_dim = 0 : i64} : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #rows>
  stretto.yield %y : tensor<4x8xf32, #rows>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @cut_twice(%x: tensor<4x8xf32, #rows>) -> tensor<4x8xf32, #cols> attributes {direction = "forward"} {
  // expected-error @below {{splits dimension 1 over {tp}, but dimension 0 lies on {tp}: 4x8xf32 [{tp}, {}] to 4x8xf32 [{}, {tp}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{tp}, {}] -> [{}, {tp}] instead}}
  %y = stretto.shard_slice %x {group = #group, dim = 1 : i64} : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #cols>
  stretto.yield %y : tensor<4x8xf32, #cols>
}

// -----

#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
#cols = #stretto.dist<mesh<tp = 2>, [{}, {tp}]>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @part_of_a_term(%x: tensor<4x8xf32, #sum>) -> tensor<4x8xf32, #cols> attributes {direction = "forward"} {
  // expected-error @below {{splits dimension 1 over {tp}, but its operand is partial over {tp}: 4x8xf32 [{}, {}], sum {tp} to 4x8xf32 [{}, {tp}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}, {}], sum {tp} -> [{}, {tp}] instead}}
  %y = stretto.shard_slice %x {group = #group, dim = 1 : i64} : tensor<4x8xf32, #sum> -> tensor<4x8xf32, #cols>
  stretto.yield %y : tensor<4x8xf32, #cols>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}, {}]>
#sum = #stretto.dist<mesh<tp = 2>, [{}, {}], sum {tp}>
#group = #stretto.group<mesh<tp = 2>, {tp}>
stretto.segment @first_of_shards(%x: tensor<4x8xf32, #rows>) -> tensor<4x8xf32, #sum> attributes {direction = "forward"} {
  // expected-error @below {{keeps the first of {tp}, but its operand is sharded over {tp}: 4x8xf32 [{tp}, {}] to 4x8xf32 [{}, {}], sum {tp}}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{tp}, {}] -> [{}, {}], sum {tp} instead}}
  %y = stretto.keep_first %x {group = #group} : tensor<4x8xf32, #rows> -> tensor<4x8xf32, #sum>
  stretto.yield %y : tensor<4x8xf32, #sum>
}

// -----

#dp = #stretto.dist<mesh<dp = 2, tp = 2>, [{dp}, {}]>
#group = #stretto.group<mesh<dp = 2, tp = 2>, {dp, tp}>
#swapped = #stretto.group<mesh<dp = 2, tp = 2>, {tp, dp}>
stretto.segment @axes_change_places(%x: tensor<4x8xf32, #dp>) -> tensor<4x8xf32, #dp> attributes {direction = "forward"} {
  // expected-error @below {{over {dp, tp} makes of 4x8xf32 [{dp}, {}] [{tp}, {}], but the result is 4x8xf32 [{dp}, {}]}}
  // expected-note @below {{this would fit: the result is [{tp}, {}]}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{dp}, {}] -> [{dp}, {}] instead}}
  %y = stretto.permute %x {group = #group, to = #swapped} : tensor<4x8xf32, #dp> -> tensor<4x8xf32, #dp>
  stretto.yield %y : tensor<4x8xf32, #dp>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
#group = #stretto.group<mesh<dp = 2>, {dp}>
stretto.segment @group_of_another_mesh(%x: tensor<4xf32, #rows>) -> tensor<4xf32, #rows> attributes {direction = "forward"} {
  // expected-error @below {{has a group of the mesh (dp = 2), but its operand, 4xf32 [{tp}], lies on the mesh (tp = 2); name the axes of the latter}}
  %y = stretto.all_gather %x {group = #group, dim = 0 : i64} : tensor<4xf32, #rows> -> tensor<4xf32, #rows>
  stretto.yield %y : tensor<4xf32, #rows>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
#other = #stretto.dist<mesh<dp = 2>, [{dp}]>
stretto.segment @to_another_mesh(%x: tensor<4xf32, #rows>) -> tensor<4xf32, #other> attributes {direction = "forward"} {
  // expected-error @below {{leads from 4xf32 [{tp}] on the mesh (tp = 2) to 4xf32 [{dp}] on the mesh (dp = 2); a value stays on its mesh}}
  %y = stretto.reshard %x : tensor<4xf32, #rows> -> tensor<4xf32, #other>
  stretto.yield %y : tensor<4xf32, #other>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
stretto.segment @to_nowhere(%x: tensor<4xf32, #rows>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @below {{leads from 4xf32 [{tp}] to 4xf32: give both a distribution or none}}
  %y = stretto.reshard %x : tensor<4xf32, #rows> -> tensor<4xf32>
  stretto.yield %y : tensor<4xf32>
}

// -----

#max = #stretto.dist<mesh<tp = 2>, [{}], max {tp}>
#sum = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
stretto.segment @of_another_kind(%x: tensor<4xf32, #max>) -> tensor<4xf32, #sum> attributes {direction = "forward"} {
  // expected-error @below {{turns a partial max into a partial sum: [{}], max {tp} to [{}], sum {tp}; reduce it to a whole value in between}}
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}], max {tp} -> [{}]}}
  %y = stretto.reshard %x : tensor<4xf32, #max> -> tensor<4xf32, #sum>
  stretto.yield %y : tensor<4xf32, #sum>
}

// -----

// On local types only shapes are there.
#group = #stretto.group<mesh<tp = 4>, {tp}>
stretto.segment @five_over_four(%x: tensor<5xf32>) -> tensor<5xf32> attributes {direction = "forward"} {
  // expected-error @below {{dimension 0 of extent 5 does not split over 4 members of {tp}; pad it to 8 or name fewer axes}}
  %y = stretto.shard_slice %x {group = #group, dim = 0 : i64} : tensor<5xf32> -> tensor<5xf32>
  stretto.yield %y : tensor<5xf32>
}

// -----

#group = #stretto.group<mesh<tp = 4>, {tp}>
stretto.segment @gathers_too_little(%x: tensor<5xf32>) -> tensor<10xf32> attributes {direction = "forward"} {
  // expected-error @below {{result shape does not follow from the group of 4 members: [10], expected [20] of [5]}}
  %y = stretto.all_gather %x {group = #group, dim = 0 : i64} : tensor<5xf32> -> tensor<10xf32>
  stretto.yield %y : tensor<10xf32>
}
