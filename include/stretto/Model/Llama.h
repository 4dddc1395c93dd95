//===- Llama.h - Llama-like models ------------------------------*- C++ -*-===//
//
// Builds the IR of a Llama-like model (Touvron et al., arXiv 2302.13971 and
// 2307.09288): rotary positions, pre-normalisation with rms_norm, grouped-query
// causal attention, a SwiGLU MLP, no biases, an untied head.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_MODEL_LLAMA_H
#define STRETTO_MODEL_LLAMA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "stretto/Model/Transformer.h"

namespace stretto {

struct LlamaOptions : TransformerOptions {
  LlamaOptions() { tied = false; }
  double ropeBase = 10000.0;
};

/// A module with layers @embed, @decoder and @head and the model @llama; ffn
/// defaults to 8/3 * embed rounded up to a multiple of 64. Loads the dialect
/// into `context`.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
buildLlama(mlir::MLIRContext *context, const LlamaOptions &options,
           Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_MODEL_LLAMA_H
