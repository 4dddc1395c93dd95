// RUN: stretto-opt %s -split-input-file -verify-diagnostics
// A partial sum does not leave a segment that promises the whole value.

#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  // expected-note @below {{this would fit: stretto.reshard %arg0 : [{}], sum {tp} -> [{}]}}
  stretto.segment @norm(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    // expected-error @below {{yields 8xf32 [{}], sum {tp} as result 0, but @norm returns 8xf32 [{}]}}
    stretto.yield %x : tensor<8xf32, #partial>
  }
  stretto.step @train(%x: tensor<8xf32, #partial> {stretto.binding = "input:x"}) -> tensor<8xf32, #whole> {
    %y = stretto.invoke @norm(%x) instance "n" : (tensor<8xf32, #partial>) -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
}

// -----

module {
  stretto.segment @two(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {direction = "forward"} {
    // expected-error @below {{yields 1 values, expected 2}}
    stretto.yield %x : tensor<8xf32>
  }
  stretto.step @train(%x: tensor<8xf32> {stretto.binding = "input:x"}) -> tensor<8xf32> {
    %y:2 = stretto.invoke @two(%x) instance "n" : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    stretto.yield %y#0 : tensor<8xf32>
  }
}

// -----

// Nobody invokes this one.
#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
// expected-note @below {{this would fit: stretto.reshard %arg0 : [{}], sum {tp} -> [{}]}}
stretto.segment @alone(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
  // expected-error @below {{as result 0, but @alone returns}}
  stretto.yield %x : tensor<8xf32, #partial>
}

// -----

stretto.step @train(%x: tensor<8xf32> {stretto.binding = "input:x"}) -> tensor<4xf32> {
  // expected-error @below {{yields 8xf32 as result 0, but @train returns 4xf32}}
  stretto.yield %x : tensor<8xf32>
}

// -----

// expected-error @below {{result 0 is an alias of 1 : i64, expected one of the 1 arguments}}
stretto.segment @alias(%x: tensor<8xf32>) -> (tensor<8xf32> {stretto.alias = 1 : i64}) attributes {direction = "forward"} {
  stretto.yield %x : tensor<8xf32>
}

// -----

// expected-error @below {{result 0 is 'tensor<4xf32>', but its alias, argument 0, is 'tensor<8xf32>'}}
stretto.segment @alias_of_another_type(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<4xf32> {stretto.alias = 0 : i64})
    attributes {direction = "forward"} {
  stretto.yield %y : tensor<4xf32>
}

// -----

// expected-error @below {{results 0 and 1 alias argument 0}}
stretto.segment @alias_twice(%x: tensor<8xf32>) -> (tensor<8xf32> {stretto.alias = 0 : i64}, tensor<8xf32> {stretto.alias = 0 : i64})
    attributes {direction = "forward"} {
  stretto.yield %x, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// A step makes no reshards: what it returns is declared as it is.
#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
// expected-note @below {{this would fit: @train returns 8xf32 [{}], sum {tp}}}
stretto.step @train(%x: tensor<8xf32, #partial> {stretto.binding = "input:x"}) -> tensor<8xf32, #whole> {
  // expected-error @below {{yields 8xf32 [{}], sum {tp} as result 0, but @train returns 8xf32 [{}]}}
  stretto.yield %x : tensor<8xf32, #partial>
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  // expected-note @below {{declared here; this would fit: argument 0 of @norm is 8xf32 [{tp}], then stretto.reshard %arg0 : [{tp}] -> [{}]}}
  stretto.segment @norm(%x: tensor<8xf32, #whole>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    stretto.yield %x : tensor<8xf32, #whole>
  }
  stretto.step @train(%x: tensor<8xf32, #rows> {stretto.binding = "input:x"}) -> tensor<8xf32, #whole> {
    // expected-error @below {{argument 0 is 8xf32 [{tp}], but segment @norm takes 8xf32 [{}]}}
    %y = stretto.invoke @norm(%x) instance "n" : (tensor<8xf32, #rows>) -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
}

// -----

#rows = #stretto.dist<mesh<tp = 2>, [{tp}]>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  // expected-note @below {{declared here; this would fit: result 0 is [{}], or @norm returns 8xf32 [{tp}], after a last stretto.reshard %arg0 : [{}] -> [{tp}]}}
  stretto.segment @norm(%x: tensor<8xf32, #whole>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    stretto.yield %x : tensor<8xf32, #whole>
  }
  stretto.step @train(%x: tensor<8xf32, #whole> {stretto.binding = "input:x"}) -> tensor<8xf32, #rows> {
    // expected-error @below {{result 0 is 8xf32 [{tp}], but segment @norm returns 8xf32 [{}]}}
    %y = stretto.invoke @norm(%x) instance "n" : (tensor<8xf32, #whole>) -> tensor<8xf32, #rows>
    stretto.yield %y : tensor<8xf32, #rows>
  }
}

// -----

// A sum of micro-batches that comes out of the body as another kind of value than it went in.
#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  // expected-note @below {{this would fit: @body returns 8xf32 [{}], sum {tp}, after a last stretto.reshard %0 : [{}] -> [{}], sum {tp}}}
  stretto.segment @body(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    %y = stretto.reshard %x : tensor<8xf32, #partial> -> tensor<8xf32, #whole>
    stretto.yield %y : tensor<8xf32, #whole>
  }
  stretto.step @train() -> tensor<8xf32, #partial> {
    %z = stretto.zeros : tensor<8xf32, #partial>
    // expected-error @below {{carried value 0 enters as 8xf32 [{}], sum {tp}, but the body yields 8xf32 [{}]}}
    %r = "stretto.microbatches"(%z) <{count = 2 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%c: tensor<8xf32, #partial>):
      %y = stretto.invoke @body(%c) instance "n" : (tensor<8xf32, #partial>) -> tensor<8xf32, #whole>
      stretto.yield %y : tensor<8xf32, #whole>
    }) : (tensor<8xf32, #partial>) -> tensor<8xf32, #partial>
    stretto.yield %r : tensor<8xf32, #partial>
  }
}

// -----

#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
stretto.step @train() -> tensor<8xf32, #partial> {
  %z = stretto.zeros : tensor<8xf32, #partial>
  // expected-error @below {{carried value 0 enters as 8xf32 [{}], sum {tp}, but the loop returns 8xf32 [{}]; this would fit: result 0 is 8xf32 [{}], sum {tp}}}
  %r = "stretto.microbatches"(%z) <{count = 2 : i64, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%c: tensor<8xf32, #partial>):
    stretto.yield %c : tensor<8xf32, #partial>
  }) : (tensor<8xf32, #partial>) -> tensor<8xf32, #whole>
  stretto.yield %z : tensor<8xf32, #partial>
}
