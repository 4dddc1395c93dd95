// RUN: stretto-opt %s --derive --split-input-file --verify-diagnostics
// What cannot be differentiated or is not ready says so, at the operation.

module {
  stretto.layer @l(%x: tensor<2xf32> dims [batch], params(%w: tensor<f32> init ones)) -> (tensor<f32>, tensor<f32>) {
    %y = stretto.mul %x, %w : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
    // expected-error @below {{has no adjoint for products; write exp of a sum of logs}}
    %s = stretto.reduce prod %y dims [0] : tensor<2xf32> -> tensor<f32>
    %c = stretto.reduce sum %x dims [0] : tensor<2xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%x: tensor<2xf32> dims [batch]) {
    %s, %c = stretto.call @l(%x) scope "l" : (tensor<2xf32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  stretto.layer @l(%ids: tensor<2xi32> dims [batch], params(%w: tensor<2xf32> init ones)) -> (tensor<f32>, tensor<f32>) {
    // expected-error @below {{has no adjoint, and the loss depends on parameters through it}}
    %y = stretto.embedding_grad %ids, %w : tensor<2xi32>, tensor<2xf32> -> tensor<3xf32>
    %s = stretto.reduce sum %y dims [0] : tensor<3xf32> -> tensor<f32>
    %x = stretto.convert %ids : tensor<2xi32> -> tensor<2xf32>
    %c = stretto.reduce sum %x dims [0] : tensor<2xf32> -> tensor<f32>
    stretto.yield %s, %c : tensor<f32>, tensor<f32>
  }
  stretto.model @m(%ids: tensor<2xi32> dims [batch]) {
    %s, %c = stretto.call @l(%ids) scope "l" : (tensor<2xi32>) -> (tensor<f32>, tensor<f32>)
    stretto.loss %s, %c weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{has dynamic shapes; run apply-recipe first}}
  stretto.model @m(%x: tensor<?xf32> dims [batch], %s: tensor<f32>) {
    stretto.loss %s, %s weight 1.0 : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{has no loss term; add stretto.loss SUM, COUNT}}
  stretto.model @m(%x: tensor<2xf32> dims [batch]) {
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<2xf32> dims [batch]) -> tensor<f32> {
    %s = stretto.reduce sum %x dims [0] : tensor<2xf32> -> tensor<f32>
    stretto.yield %s : tensor<f32>
  }
  // expected-error @below {{has no parameters: there is nothing to train}}
  stretto.model @m(%x: tensor<2xf32> dims [batch]) {
    %s = stretto.call @l(%x) scope "l" : (tensor<2xf32>) -> tensor<f32>
    stretto.loss %s, %s weight 1.0 : tensor<f32>, tensor<f32>
  }
}
