//===- Llama.cpp - Llama-like models --------------------------------------===//
#include "stretto/Model/Llama.h"

#include "TransformerParts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;

static void buildEmbedding(ModuleOp module, const LlamaOptions &options,
                           const ModelDims &dims) {
  PartBuilder b(module, "embed", options, dims);
  Value tokens = b.perToken("tokens", b.i32());
  b.finish(b.dropout(b.lookUp(b.tokenTable(), tokens), options.dropout));
}

/// The tokens only give the positions their shape.
static void buildDecoder(ModuleOp module, const LlamaOptions &options,
                         const ModelDims &dims) {
  PartBuilder b(module, "decoder", options, dims);
  Value x = b.hidden("x");
  Value positions = b.positionsOf(b.perToken("tokens", b.i32()));
  Value attention = b.attention(b.norm(NormKind::Rms, "attn_norm", x),
                                positions, options.ropeBase);
  x = b.residual(x, attention);
  x = b.residual(x, b.swigluMlp(b.norm(NormKind::Rms, "mlp_norm", x)));
  b.finish(x);
}

/// Two thirds of the 4 * embed of a plain MLP: the same parameters in three
/// matrices instead of two.
static int64_t defaultFfn(int64_t embed) {
  return int64_t(llvm::alignTo(llvm::divideCeil(8 * embed, 3), 64));
}

FailureOr<OwningOpRef<ModuleOp>>
stretto::buildLlama(MLIRContext *context, const LlamaOptions &options,
                    Diagnostics &diags) {
  LogicalResult good = checkTransformer(options, diags);
  if (succeeded(good) && options.sizeOfHead() % 2 != 0)
    good = diags.error({}, "rotary positions need an even 'head-dim', got " +
                               Twine(options.sizeOfHead()));
  if (!(options.ropeBase > 0))
    good = diags.error({}, "'rope-base' must be greater than 0");
  if (failed(good))
    return failure();
  ModelDims dims(options, options.ffn.value_or(defaultFfn(options.embed)));
  OwningOpRef<ModuleOp> module = emptyModule(context);
  buildEmbedding(*module, options, dims);
  buildDecoder(*module, options, dims);
  buildHead(*module, options, dims, NormKind::Rms);
  buildModel(*module, "llama", options, dims, /*decoderTakesTokens=*/true);
  return module;
}
