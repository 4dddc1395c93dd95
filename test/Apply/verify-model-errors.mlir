// RUN: stretto-opt %s --verify-model --split-input-file --verify-diagnostics
// Every clause of the model contract has its error.

module {
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) -> (tensor<f32>, tensor<f32>) {
    %y = stretto.mul %x, %w : tensor<?xf32>, tensor<f32> -> tensor<?xf32>
    %s = stretto.reduce sum %y dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %s : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    // expected-error @below {{count depends on parameter 'l.w'; the count must follow from the inputs alone, so that it is known before the first backward}}
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

// A count through another layer is followed.
module {
  stretto.layer @first(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) -> tensor<?xf32> {
    %y = stretto.mul %x, %w : tensor<?xf32>, tensor<f32> -> tensor<?xf32>
    stretto.yield %y : tensor<?xf32>
  }
  stretto.layer @second(%x: tensor<?xf32> dims [batch]) -> (tensor<f32>) {
    %s = stretto.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s : tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    %y = stretto.call @first(%x) scope "first" : (tensor<?xf32>) -> tensor<?xf32>
    %s = stretto.call @second(%y) scope "a" : (tensor<?xf32>) -> tensor<f32>
    %c = stretto.call @second(%x) scope "b" : (tensor<?xf32>) -> tensor<f32>
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
    // expected-error @below {{count depends on parameter 'first.w'}}
    stretto.loss %c, %s weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) {
    stretto.yield
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    // expected-error @below {{binds 'w' to 'embed.table', which no call declares; a call declares the parameters of its layer as SCOPE.NAME}}
    stretto.call @l(%x) scope "l" bind {w = "embed.table"} : (tensor<?xf32>) -> ()
  }
}

// -----

module {
  stretto.layer @a(%x: tensor<?xf32> dims [batch], params(%w: tensor<2xf32> init ones)) {
    stretto.yield
  }
  stretto.layer @b(%x: tensor<?xf32> dims [batch], params(%w: tensor<3xf32> init ones)) {
    stretto.yield
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    // expected-note @below {{declared here}}
    stretto.call @a(%x) scope "a" : (tensor<?xf32>) -> ()
    // expected-error @below {{binds 'w' to 'a.w', whose type differs}}
    stretto.call @b(%x) scope "b" bind {w = "a.w"} : (tensor<?xf32>) -> ()
  }
}

// -----

module {
  stretto.layer @a(%x: tensor<?xf32> dims [batch], params(%w: tensor<2xf32> init ones)) {
    stretto.yield
  }
  stretto.layer @b(%x: tensor<?xf32> dims [batch], params(%w: tensor<2xf32> init zeros)) {
    stretto.yield
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    // expected-note @below {{declared here}}
    stretto.call @a(%x) scope "a" : (tensor<?xf32>) -> ()
    // expected-error @below {{binds 'w' to 'a.w', whose initialisation differs}}
    stretto.call @b(%x) scope "b" bind {w = "a.w"} : (tensor<?xf32>) -> ()
  }
}

// -----

module {
  // expected-note @below {{layer @l}}
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32>)) {
    stretto.yield
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    // expected-error @below {{declares parameter 'l.w' without an initialisation; write `init …` in the layer, or bind it to another parameter}}
    stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> ()
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) {
    stretto.yield
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    // expected-note @below {{declared here}}
    stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> ()
    // expected-error @below {{declares parameter 'l.w' again; scopes must differ}}
    stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> ()
  }
}

// -----

// expected-error @below {{expected one stretto.model, got 0}}
module {
}

// -----

module {
  // expected-error @below {{has no loss term; add `stretto.loss %sum, %count weight 1.0`}}
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
  }
}

// -----

module {
  // expected-error @below {{input 'x' must count samples in its first dimension; write `dims [batch, …]`}}
  stretto.model @m(%x: tensor<?x4xf32> dims [seq, embed]) {
  }
}

// -----

// Samples meet in a maximum: an error once micro-batches split the batch.
module attributes {stretto.recipe = {global_batch = 4 : i64, microbatches = 2 : i64}} {
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) -> (tensor<f32>, tensor<f32>) {
    // expected-error @below {{couples samples along 'batch'; only sums that end in stretto.loss may, when micro-batches or axes split the batch}}
    %m = stretto.reduce max %x dims [0] : tensor<?xf32> -> tensor<f32>
    %n = stretto.mul %m, %w : tensor<f32>, tensor<f32> -> tensor<f32>
    %s = stretto.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %n, %s : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

// So does a square of a sum, while a scaled sum of sums is fine.
module attributes {stretto.recipe = {global_batch = 4 : i64, microbatches = 2 : i64}} {
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) -> (tensor<f32>, tensor<f32>) {
    %s = stretto.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
    %t = stretto.add %s, %s : tensor<f32>, tensor<f32> -> tensor<f32>
    %u = stretto.mul %t, %w : tensor<f32>, tensor<f32> -> tensor<f32>
    // expected-error @below {{uses a sum over 'batch', which is known only after all micro-batches and ranks; such sums may only be added and scaled on the way to stretto.loss}}
    %v = stretto.mul %u, %u : tensor<f32>, tensor<f32> -> tensor<f32>
    stretto.yield %v, %s : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {stretto.recipe = {global_batch = 4 : i64, microbatches = 2 : i64}} {
  stretto.layer @l(%x: tensor<?xf32> dims [batch]) -> (tensor<f32>, tensor<f32>) {
    %s = stretto.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %s : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    // expected-note @below {{result 1 of this call}}
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
    // expected-error @below {{uses a sum over 'batch', which only stretto.loss may}}
    stretto.output "count" %c : tensor<f32>
  }
}

// -----

// The plan may split the batch as well.
module {
  stretto.layer @l(%x: tensor<?xf32> dims [batch] {stretto.constraint = #stretto.constraint<[{dp}]>}) -> (tensor<f32>, tensor<f32>) {
    // expected-error @below {{couples samples along 'batch'}}
    %m = stretto.softmax %x {dim = 0 : i64} : tensor<?xf32> -> tensor<?xf32>
    %s = stretto.reduce sum %m dims [0] : tensor<?xf32> -> tensor<f32>
    %c = stretto.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<?xf32> dims [batch]) {
    // expected-error @below {{does not belong in a layer: only tensor operations without communication do}}
    %y = stretto.zeros : tensor<f32>
    stretto.yield
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> ()
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<?xf32> dims [batch], params(%w: tensor<f32> init ones)) -> (tensor<f32>, tensor<f32>) {
    // expected-error @below {{computes in 'bf16', which is not implemented yet; use f32}}
    %h = stretto.convert %x : tensor<?xf32> -> tensor<?xbf16>
    %y = stretto.convert %h : tensor<?xbf16> -> tensor<?xf32>
    %s = stretto.reduce sum %y dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %s : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xf32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<?xi32> dims [batch], params(%w: tensor<f32> init ones)) -> (tensor<f32>, tensor<f32>) {
    // expected-error @below {{of 'i32' has no meaning; stretto.convert makes it f32}}
    %h = stretto.log %x : tensor<?xi32> -> tensor<?xi32>
    %y = stretto.convert %h : tensor<?xi32> -> tensor<?xf32>
    %s = stretto.reduce sum %y dims [0] : tensor<?xf32> -> tensor<f32>
    stretto.yield %s, %s : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<?xi32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<?xi32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}
