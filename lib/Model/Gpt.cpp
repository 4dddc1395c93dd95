//===- Gpt.cpp - GPT-2-like models ----------------------------------------===//
#include "stretto/Model/Gpt.h"

#include "TransformerParts.h"

using namespace mlir;
using namespace stretto;

static void buildEmbedding(ModuleOp module, const GptOptions &options,
                           const ModelDims &dims) {
  PartBuilder b(module, "embed", options, dims);
  Value tokens = b.perToken("tokens", b.i32());
  Value table = b.tokenTable();
  Value positionTable =
      b.parameter("positions", {{"position", options.maxSequence}, dims.embed},
                  b.normal(options.initStddev), Decay::Yes);
  Value x = b.add(b.lookUp(table, tokens),
                  b.lookUp(positionTable, b.positionsOf(tokens)));
  b.finish(b.dropout(x, options.dropout));
}

static void buildDecoder(ModuleOp module, const GptOptions &options,
                         const ModelDims &dims) {
  PartBuilder b(module, "decoder", options, dims);
  Value x = b.hidden("x");
  Value attention = b.attention(b.norm(NormKind::Layer, "attn_norm", x),
                                /*positions=*/nullptr, /*ropeBase=*/0);
  x = b.residual(x, attention);
  x = b.residual(x, b.geluMlp(b.norm(NormKind::Layer, "mlp_norm", x)));
  b.finish(x);
}

FailureOr<OwningOpRef<ModuleOp>> stretto::buildGpt(MLIRContext *context,
                                                   const GptOptions &options,
                                                   Diagnostics &diags) {
  LogicalResult good = checkTransformer(options, diags);
  constexpr int64_t maxPositions = int64_t(1) << 30;
  if (options.maxSequence < 1 || options.maxSequence > maxPositions)
    good = diags.error({}, "'max-seq' must be from 1 to 2^30, got " +
                               Twine(options.maxSequence));
  if (failed(good))
    return failure();
  ModelDims dims(options, options.ffn.value_or(4 * options.embed));
  OwningOpRef<ModuleOp> module = emptyModule(context);
  buildEmbedding(*module, options, dims);
  buildDecoder(*module, options, dims);
  buildHead(*module, options, dims, NormKind::Layer);
  buildModel(*module, "gpt", options, dims, /*decoderTakesTokens=*/false);
  return module;
}
