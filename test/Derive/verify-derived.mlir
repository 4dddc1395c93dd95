// RUN: stretto-opt %s --verify-derived --split-input-file --verify-diagnostics
// Each promise of derive, broken.

module {
  // expected-error @below {{does not return 'grad:w'}}
  stretto.step @train(%w: tensor<2xf32> {stretto.binding = "param:w"}) -> (tensor<2xf32> {stretto.binding = "param:w"}) {
    stretto.yield %w : tensor<2xf32>
  }
}

// -----

module {
  // expected-error @below {{returns 'grad:w' as 'tensor<3xf32>', expected 'tensor<2xf32>'}}
  stretto.step @train(%w: tensor<2xf32> {stretto.binding = "param:w"}) -> (tensor<2xf32> {stretto.binding = "param:w"}, tensor<3xf32> {stretto.binding = "grad:w"}) {
    %0 = stretto.zeros : tensor<3xf32>
    stretto.yield %w, %0 : tensor<2xf32>, tensor<3xf32>
  }
}

// -----

module {
  // expected-error @below {{binds 'grad:w' twice}}
  stretto.step @train(%w: tensor<2xf32> {stretto.binding = "param:w"}) -> (tensor<2xf32> {stretto.binding = "grad:w"}, tensor<2xf32> {stretto.binding = "grad:w"}) {
    stretto.yield %w, %w : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

module {
  // expected-error @below {{returns a gradient of 'w', which is no parameter}}
  stretto.step @train() -> (tensor<2xf32> {stretto.binding = "grad:w"}) {
    %0 = stretto.zeros : tensor<2xf32>
    stretto.yield %0 : tensor<2xf32>
  }
}

// -----

module {
  // expected-error @below {{argument 0 has no binding}}
  stretto.step @eval(%w: tensor<2xf32>) {
    stretto.yield
  }
}

// -----

module {
  // expected-error @below {{is left after derive}}
  stretto.layer @l(%x: tensor<2xf32>) {
    stretto.yield
  }
}
