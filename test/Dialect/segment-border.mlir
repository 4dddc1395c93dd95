// RUN: stretto-opt %s -split-input-file -verify-diagnostics
// A partial sum does not leave a segment that promises the whole value.

#partial = #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>
#whole = #stretto.dist<mesh<tp = 2>, [{}]>
module {
  stretto.segment @norm(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
    // expected-error @below {{yields 'tensor<8xf32, #stretto.dist<mesh<tp = 2>, [{}], sum {tp}>>' as result 0, but @norm returns 'tensor<8xf32, #stretto.dist<mesh<tp = 2>, [{}]>>'}}
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
stretto.segment @alone(%x: tensor<8xf32, #partial>) -> tensor<8xf32, #whole> attributes {direction = "forward"} {
  // expected-error @below {{as result 0, but @alone returns}}
  stretto.yield %x : tensor<8xf32, #partial>
}

// -----

stretto.step @train(%x: tensor<8xf32> {stretto.binding = "input:x"}) -> tensor<4xf32> {
  // expected-error @below {{yields 'tensor<8xf32>' as result 0, but @train returns 'tensor<4xf32>'}}
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
