// RUN: stretto-opt %s --propagate --split-input-file -verify-diagnostics
// Constraints that the mesh cannot obey are refused where they stand.

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 4>} {
  // expected-error@+1 {{constraint names 'ep', which is no axis of the mesh; its axes are: dp = 2, tp = 4}}
  stretto.segment @s(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{ep}, {?}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    stretto.yield %x : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 4>} {
  stretto.segment @s(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
    // expected-error@+1 {{constraint names 'tp:(1)3', which is no axis of the mesh; its axes are: dp = 2, tp = 4}}
    %a = stretto.constrain %x <[{?}, {tp:(1)3}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2, tp = 4>} {
  stretto.segment @s(%x: tensor<8x16xf32>) -> tensor<8x16xf32> attributes {direction = "forward"} {
    // expected-error@+1 {{dimension 1 wants {dp, tp}, of which an earlier dimension takes a part (they take {tp}); a rank owns one shard: name every axis once}}
    %a = stretto.constrain %x <[{tp}, {dp, tp}]> : tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  // expected-error@+1 {{constraint of rank 1 on a value of rank 2}}
  stretto.segment @s(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp}]>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    stretto.yield %x : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  // expected-error@+1 {{constraint names 'cp', which is no axis of the mesh; its axes are: dp = 2}}
  stretto.segment @s(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{?}, {?}], replicated {cp}>}) -> tensor<8x16xf32>
      attributes {direction = "forward"} {
    stretto.yield %x : tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> tensor<8x16xf32>
    stretto.yield
  }
}

// -----

// An operation without a rule is passed over here and refused by assign: nothing is known of its result.

module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
  stretto.segment @s(%x: tensor<8x16xf32> {stretto.constraint = #stretto.constraint<[{dp}, {?}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>)
      attributes {direction = "forward"} {
    %a = stretto.reshard %x : tensor<8x16xf32> -> tensor<8x16xf32>
    %b = stretto.add %a, %x : tensor<8x16xf32>, tensor<8x16xf32> -> tensor<8x16xf32>
    stretto.yield %a, %b : tensor<8x16xf32>, tensor<8x16xf32>
  }
  stretto.step @t(%x: tensor<8x16xf32>) {
    %a:2 = stretto.invoke @s(%x) instance "a" : (tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    stretto.yield
  }
}

// -----

module {
  module attributes {stretto.mesh = #stretto.mesh<dp = 2>} {
    stretto.segment @s(%x: tensor<8xf32>) -> tensor<8xf32> attributes {direction = "forward"} {
      stretto.yield %x : tensor<8xf32>
    }
    stretto.step @t(%x: tensor<8xf32>) {
      // expected-error@+1 {{calls @s, which is in a nested module; put all segments and steps into one module}}
      %a = stretto.invoke @s(%x) instance "a" : (tensor<8xf32>) -> tensor<8xf32>
      stretto.yield
    }
  }
}
