// RUN: stretto-opt %s --apply-recipe --split-input-file --verify-diagnostics
// What the recipe cannot bind is refused with the dimension's name.

module {
  // expected-error @below {{'stretto.layer' op dimension 1 ('width') of argument 0 is dynamic; the recipe binds only 'batch' and 'seq', write a number for others}}
  stretto.layer @l(%x: tensor<?x?xf32> dims [batch, width]) {
    stretto.yield
  }
}

// -----

module {
  stretto.layer @l(%x: tensor<?x4xf32> dims [batch, embed]) {
    // expected-error @below {{extent of result dimension 0 is in no operand; write a number, or align with a tensor that has the dimension}}
    %y = stretto.broadcast %x dims [1, 2] : tensor<?x4xf32> -> tensor<?x?x4xf32>
    stretto.yield
  }
}

// -----

// expected-error @below {{unknown recipe entry 'batch_size'}}
module attributes {stretto.recipe = {batch_size = 4 : i64}} {
}

// -----

// expected-error @below {{recipe entry 'optimizer' is "adam"; known: adamw sgd}}
module attributes {stretto.recipe = {optimizer = "adam"}} {
}

// -----

// expected-error @below {{recipe entry 'sequence' must be at least 1, got 0}}
module attributes {stretto.recipe = {sequence = 0 : i64}} {
}

// -----

// expected-error @below {{recipe entry 'lr' must be a float}}
module attributes {stretto.recipe = {lr = "high"}} {
}

// -----

module {
  // expected-error @below {{argument 1 of @l is 4x0xf32: dimension 1 has no elements; use an extent of at least 1}}
  stretto.layer @l(%x: tensor<?x4xf32> dims [batch, embed], params(%w: tensor<4x0xf32> dims [embed, ffn] init ones)) {
    stretto.yield
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @l is 4x1125899906842624xf32, more than the 2^50 elements that a tensor may have; use smaller extents}}
  stretto.layer @l(%x: tensor<?x4xf32> dims [batch, embed], params(%w: tensor<4x1125899906842624xf32> dims [embed, ffn] init ones)) {
    stretto.yield
  }
}
