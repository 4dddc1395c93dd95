//===- Gpt.h - GPT-2-like models --------------------------------*- C++ -*-===//
//
// Builds the IR of a GPT-2-like model (Radford et al. 2019): learned positions,
// pre-normalisation with layer_norm, multi-head causal attention, a GELU MLP in
// the tanh approximation, biases everywhere, the head tied to the embedding.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_MODEL_GPT_H
#define STRETTO_MODEL_GPT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stretto/Model/Transformer.h"

namespace stretto {

struct GptOptions : TransformerOptions {
  GptOptions() { bias = true; }
  int64_t maxSequence = 256; // rows of the position table
};

/// A module with layers @embed, @decoder and @head and the model @gpt; ffn
/// defaults to 4 * embed. Loads the dialect into `context`.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
buildGpt(mlir::MLIRContext *context, const GptOptions &options,
         Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_MODEL_GPT_H
