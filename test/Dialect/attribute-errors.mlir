// RUN: stretto-opt %s --split-input-file --verify-diagnostics
// Sub-axes that are used together are digits of one number, and an encoding fits its tensor.

// i in 0..11 has the digits i / 3 and i % 2: ranks 0 and 2 would hold the same shard, some shards nobody.
// expected-error @below {{sub-axes (1)4 and (6)2 of axis 'tp' do not align: 6 is no multiple of 4}}
#misaligned = #stretto.dist<mesh<tp = 12>, [{tp:(1)4}, {tp:(6)2}]>

// -----

// expected-error @below {{sub-axes (1)4 and (6)2 of axis 'tp' do not align}}
#partial = #stretto.dist<mesh<tp = 12>, [{tp:(6)2}], sum {tp:(1)4}>

// -----

// expected-error @below {{sub-axes (1)4 and (6)2 of axis 'tp' do not align}}
#group = #stretto.group<mesh<tp = 12>, {tp:(1)4, tp:(6)2}>

// -----

// expected-error @below {{axis 'tp' is used twice in one group}}
#group = #stretto.group<mesh<tp = 4>, {tp:(1)2, tp}>

// -----

// The product of pre and size is 2^64.
// expected-error @below {{sub-axis (4611686018427387904)4 does not divide axis 'tp' of size 4611686018427387904}}
#wide = #stretto.dist<mesh<tp = 4611686018427387904>, [{tp:(4611686018427387904)4}]>

// -----

#dist = #stretto.dist<mesh<tp = 2>, [{}]>
// expected-error @below {{distribution of rank 1 on a tensor of rank 2}}
stretto.segment @rank(%x: tensor<4x8xf32, #dist>) attributes {direction = "forward"} {
  stretto.yield
}

// -----

#dist = #stretto.dist<mesh<tp = 2>, [{tp}]>
// expected-error @below {{dimension 0 of size 5 does not divide over {tp}; give it a padded extent of 6}}
stretto.segment @uneven(%x: tensor<5xf32, #dist>) attributes {direction = "forward"} {
  stretto.yield
}

// -----

#dist = #stretto.dist<mesh<tp = 2>, [{tp}], padded [4]>
// expected-error @below {{padded extent 4 of dimension 0 is less than its size 5}}
stretto.segment @padding(%x: tensor<5xf32, #dist>) attributes {direction = "forward"} {
  stretto.yield
}

// -----

#dist = #stretto.dist<mesh<tp = 2>, [{tp}]>
// expected-error @below {{dimension 0 is dynamic; what is sharded or padded needs a static extent}}
stretto.segment @dynamic(%x: tensor<?xf32, #dist>) attributes {direction = "forward"} {
  stretto.yield
}
