//===- TransformerParts.h - the pieces of a decoder-only model --*- C++ -*-===//
//
// Normalisation, projections, attention, the two MLPs, the head and the graph
// of instances: what Gpt.cpp and Llama.cpp are put together from.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_MODEL_TRANSFORMERPARTS_H
#define STRETTO_LIB_MODEL_TRANSFORMERPARTS_H

#include "LayerBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include "stretto/Model/Transformer.h"

namespace stretto {

enum class NormKind { Layer, Rms };

/// The logical dimensions of a model.
struct ModelDims {
  ModelDims(const TransformerOptions &options, int64_t ffnSize);
  Dim batch{"batch"}, seq{"seq"};
  Dim embed, heads, kvHeads, headDim, ffn, vocab;
};

/// A layer of a transformer.
class PartBuilder : public LayerBuilder {
public:
  PartBuilder(mlir::ModuleOp module, llvm::StringRef name,
              const TransformerOptions &options, const ModelDims &dims)
      : LayerBuilder(module, name), options(options), dims(dims) {}

  /// Activation [batch, seq, embed].
  mlir::Value hidden(llvm::StringRef name);
  /// Activation [batch, seq]: tokens, labels (i32) or a mask (f32).
  mlir::Value perToken(llvm::StringRef name, mlir::Type element);

  mlir::Value norm(NormKind kind, llvm::StringRef name, mlir::Value x);
  /// Causal self-attention of the normalised x, projected back to embed; with
  /// `positions` [batch, seq] q and k are rotated.
  mlir::Value attention(mlir::Value x, mlir::Value positions, double ropeBase);
  /// w2 * gelu(w1 * x + b1) + b2.
  mlir::Value geluMlp(mlir::Value x);
  /// down * (silu(gate * x) * (up * x)) (Shazeer, arXiv 2002.05202).
  mlir::Value swigluMlp(mlir::Value x);
  /// x + dropout(branch).
  mlir::Value residual(mlir::Value x, mlir::Value branch) {
    return add(x, dropout(branch, options.dropout));
  }
  /// Indices along seq for tokens [batch, seq].
  mlir::Value positionsOf(mlir::Value tokens);
  mlir::Value lookUp(mlir::Value table, mlir::Value ids);
  mlir::Value tokenTable();

private:
  /// A linear map with weight `w<name>` and, if the model has them, bias
  /// `b<name>` in the group of `prefix`.
  mlir::Value project(llvm::StringRef spec, mlir::Value x,
                      llvm::StringRef prefix, llvm::StringRef name,
                      llvm::ArrayRef<Dim> weight, llvm::ArrayRef<Dim> bias,
                      double stddev);
  mlir::Value headNorm(llvm::StringRef name, mlir::Value x);
  /// Of the projections that end in the residual stream (GPT-2, section 2.3).
  double residualStddev() const;

  const TransformerOptions &options;
  const ModelDims &dims;
};

/// Layer @head: normalise, project on the vocabulary, masked cross-entropy.
/// Yields sum and count of the loss and the logits.
void buildHead(mlir::ModuleOp module, const TransformerOptions &options,
               const ModelDims &dims, NormKind norm);

/// The model: embed, `layers` decoders, head, loss. `decoderTakesTokens`: the
/// decoder's second activation is the tokens.
void buildModel(mlir::ModuleOp module, llvm::StringRef name,
                const TransformerOptions &options, const ModelDims &dims,
                bool decoderTakesTokens);

/// An empty module in a context that knows the dialect.
mlir::OwningOpRef<mlir::ModuleOp> emptyModule(mlir::MLIRContext *context);

} // namespace stretto

#endif // STRETTO_LIB_MODEL_TRANSFORMERPARTS_H
