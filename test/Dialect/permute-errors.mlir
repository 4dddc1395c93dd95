// RUN: stretto-opt %s -split-input-file -verify-diagnostics

#group = #stretto.group<mesh<dp = 2, tp = 4>, {dp}>
#other = #stretto.group<mesh<dp = 2, tp = 4>, {tp}>
stretto.segment @other_axes(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @+1 {{counts members by {tp}, which are not the axes of its group {dp}}}
  %y = stretto.permute %x {group = #group, to = #other} : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %x : tensor<4xf32>
}

// -----

#group = #stretto.group<mesh<dp = 2, tp = 4>, {dp, tp}>
#other = #stretto.group<mesh<dp = 2, tp = 2>, {tp, dp}>
stretto.segment @other_mesh(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @+1 {{counts members on another mesh}}
  %y = stretto.permute %x {group = #group, to = #other} : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %x : tensor<4xf32>
}

// -----

#group = #stretto.group<mesh<tp = 6>, {tp:(2)3, tp:(1)2}>
#other = #stretto.group<mesh<tp = 6>, {tp:(3)2, tp:(1)3}>
stretto.segment @digits_do_not_align(%x: tensor<6x1xf32>) -> tensor<6x1xf32> attributes {direction = "forward"} {
  // A permutation is defined for these,
  %y = stretto.permute %x {group = #group, to = #other} : tensor<6x1xf32> -> tensor<6x1xf32>
  // blocks cannot be handed out so.
  // expected-error @+1 {{cannot be cut into the same sub-axes}}
  %z = stretto.all_to_all %x {group = #group, to = #other, split_dim = 0 : i64, concat_dim = 1 : i64} : tensor<6x1xf32> -> tensor<1x6xf32>
  stretto.yield %x : tensor<6x1xf32>
}

// -----

#group = #stretto.group<mesh<dp = 2, tp = 4>, {tp}>
stretto.segment @shape(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @+1 {{result shape does not follow from the group of 4 members}}
  %y = stretto.permute %x {group = #group, to = #group} : tensor<4xf32> -> tensor<1xf32>
  stretto.yield %x : tensor<4xf32>
}

// -----

#group = #stretto.group<mesh<dp = 2, tp = 4>, {tp}>
stretto.segment @too_far(%x: tensor<4xf32>) -> tensor<4xf32> attributes {direction = "forward"} {
  // expected-error @+1 {{goes 4 members on; of 4 it can be 0 to 3}}
  %y = stretto.permute %x {group = #group, to = #group, shift = 4 : i64} : tensor<4xf32> -> tensor<4xf32>
  stretto.yield %x : tensor<4xf32>
}
