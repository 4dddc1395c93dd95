//===- Transformer.h - what decoder-only models have in common --*- C++ -*-===//
//
// The sizes and switches that every decoder-only builder understands, their
// defaults and checks. Model names follow the logical dimensions of the IR:
// batch, seq, position, embed, heads, kv_heads, head_dim, ffn, vocab.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_MODEL_TRANSFORMER_H
#define STRETTO_MODEL_TRANSFORMER_H

#include "stretto/Support/Diagnostics.h"
#include <cstdint>
#include <optional>

namespace stretto {

struct TransformerOptions {
  int64_t layers = 4;
  int64_t embed = 256;
  int64_t heads = 8;
  std::optional<int64_t> kvHeads; // default: heads
  std::optional<int64_t> headDim; // default: embed / heads
  std::optional<int64_t> ffn;     // default: the model's own rule
  int64_t vocab = 256;
  bool tied = true;    // the head reads the embedding table
  bool bias = false;   // biases on all projections
  bool qkNorm = false; // rms_norm over head_dim on q and k
  double dropout = 0;
  double labelSmoothing = 0;
  double normEpsilon = 1e-5;
  double initStddev = 0.02; // residual projections: over sqrt(2 * layers)

  int64_t numKvHeads() const { return kvHeads.value_or(heads); }
  int64_t sizeOfHead() const { return headDim.value_or(embed / heads); }
};

/// Reports every option that makes no model, with what would.
llvm::LogicalResult checkTransformer(const TransformerOptions &options,
                                     Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_MODEL_TRANSFORMER_H
