//===- TransformerParts.cpp - the pieces of a decoder-only model ----------===//
#include "TransformerParts.h"

#include <cmath>

using namespace mlir;
using namespace stretto;

ModelDims::ModelDims(const TransformerOptions &options, int64_t ffnSize)
    : embed{"embed", options.embed}, heads{"heads", options.heads},
      kvHeads{options.numKvHeads() == options.heads ? "heads" : "kv_heads",
              options.numKvHeads()},
      headDim{"head_dim", options.sizeOfHead()}, ffn{"ffn", ffnSize},
      vocab{"vocab", options.vocab} {}

Value PartBuilder::hidden(StringRef name) {
  return activation(name, {dims.batch, dims.seq, dims.embed}, f32());
}

Value PartBuilder::perToken(StringRef name, Type element) {
  return activation(name, {dims.batch, dims.seq}, element);
}

double PartBuilder::residualStddev() const {
  return options.initStddev / std::sqrt(2.0 * double(options.layers));
}

Value PartBuilder::norm(NormKind kind, StringRef name, Value x) {
  FloatAttr epsilon = builder().getF64FloatAttr(options.normEpsilon);
  Value scale =
      parameter((name + ".scale").str(), {dims.embed}, ones(), Decay::No);
  if (kind == NormKind::Rms)
    return RmsNormOp::create(builder(), loc(), x, scale, epsilon);
  Value shift =
      parameter((name + ".shift").str(), {dims.embed}, zeros(), Decay::No);
  return LayerNormOp::create(builder(), loc(), x, scale, shift, epsilon);
}

Value PartBuilder::headNorm(StringRef name, Value x) {
  if (!options.qkNorm)
    return x;
  Value scale = parameter(name, {dims.headDim}, ones(), Decay::No);
  return RmsNormOp::create(builder(), loc(), x, scale,
                           builder().getF64FloatAttr(options.normEpsilon));
}

Value PartBuilder::project(StringRef spec, Value x, StringRef prefix,
                           StringRef name, ArrayRef<Dim> weight,
                           ArrayRef<Dim> bias, double stddev) {
  Value w = parameter((prefix + ".w" + name).str(), weight, normal(stddev),
                      Decay::Yes);
  Value y = einsum(spec, x, w);
  if (!options.bias)
    return y;
  return add(y,
             parameter((prefix + ".b" + name).str(), bias, zeros(), Decay::No));
}

Value PartBuilder::attention(Value x, Value positions, double ropeBase) {
  auto toHeads = [&](StringRef name, Dim heads) {
    return project("b s e, e h d -> b s h d", x, "attn", name,
                   {dims.embed, heads, dims.headDim}, {heads, dims.headDim},
                   options.initStddev);
  };
  auto rotate = [&](Value y) -> Value {
    if (!positions)
      return y;
    return RopeOp::create(builder(), loc(), y, positions,
                          builder().getF64FloatAttr(ropeBase), UnitAttr());
  };
  Value q = toHeads("q", dims.heads);
  Value k = toHeads("k", dims.kvHeads);
  Value v = toHeads("v", dims.kvHeads);
  q = rotate(headNorm("attn.q_norm", q));
  k = rotate(headNorm("attn.k_norm", k));
  double scale = 1.0 / std::sqrt(double(dims.headDim.size));
  int64_t randomId = options.dropout > 0 ? nextRandomId() : 0;
  auto attention = AttentionOp::create(
      builder(), loc(), q, k, v, builder().getF64FloatAttr(scale),
      builder().getUnitAttr(), builder().getF64FloatAttr(options.dropout),
      builder().getI64IntegerAttr(randomId), IntegerAttr(), IntegerAttr(),
      OffsetAttr(), OffsetAttr(), IntegerAttr(), IntegerAttr(), OffsetAttr(),
      OffsetAttr(), IntegerAttr());
  return project("b s h d, h d e -> b s e", attention.getOut(), "attn", "o",
                 {dims.heads, dims.headDim, dims.embed}, {dims.embed},
                 residualStddev());
}

Value PartBuilder::geluMlp(Value x) {
  Value inner = project("b s e, e f -> b s f", x, "mlp", "1",
                        {dims.embed, dims.ffn}, {dims.ffn}, options.initStddev);
  Value active = GeluOp::create(builder(), loc(), inner, /*tanh=*/true);
  return project("b s f, f e -> b s e", active, "mlp", "2",
                 {dims.ffn, dims.embed}, {dims.embed}, residualStddev());
}

Value PartBuilder::swigluMlp(Value x) {
  auto widen = [&](StringRef name) {
    return project("b s e, e f -> b s f", x, "mlp", name,
                   {dims.embed, dims.ffn}, {dims.ffn}, options.initStddev);
  };
  Value gate = SiluOp::create(builder(), loc(), widen("gate"));
  Value gated = mul(gate, widen("up"));
  return project("b s f, f e -> b s e", gated, "mlp", "down",
                 {dims.ffn, dims.embed}, {dims.embed}, residualStddev());
}

Value PartBuilder::positionsOf(Value tokens) {
  return IotaOp::create(builder(), loc(), tokens,
                        builder().getI64IntegerAttr(1), OffsetAttr());
}

Value PartBuilder::lookUp(Value table, Value ids) {
  return EmbeddingOp::create(builder(), loc(), table, ids, OffsetAttr());
}

Value PartBuilder::tokenTable() {
  return parameter("table", {dims.vocab, dims.embed},
                   normal(options.initStddev), Decay::Yes);
}

void stretto::buildHead(ModuleOp module, const TransformerOptions &options,
                        const ModelDims &dims, NormKind norm) {
  PartBuilder b(module, "head", options, dims);
  Value x = b.hidden("x");
  Value labels = b.perToken("labels", b.i32());
  Value mask = b.perToken("mask", b.f32());
  Value normed = b.norm(norm, "norm", x);
  // A tied table is declared, initialised and decayed at the embedding.
  Value table = options.tied ? b.parameter("table", {dims.vocab, dims.embed},
                                           InitAttr(), Decay::Yes)
                             : b.tokenTable();
  Value logits = b.einsum("b s e, v e -> b s v", normed, table);
  auto entropy = CrossEntropyOp::create(
      b.builder(), b.loc(), logits, labels,
      b.builder().getF64FloatAttr(options.labelSmoothing));
  Value sum = b.total(b.mul(entropy.getLoss(), mask));
  Value count = b.total(mask);
  b.finish({sum, count, logits});
}

/// The model op with its inputs, body still empty.
static ModelOp openModel(OpBuilder &b, StringRef name, const ModelDims &dims) {
  const Dim perToken[] = {dims.batch, dims.seq};
  const std::pair<StringRef, Type> inputs[] = {{"tokens", b.getI32Type()},
                                               {"labels", b.getI32Type()},
                                               {"mask", b.getF32Type()}};
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (auto [inputName, element] : inputs) {
    types.push_back(typeOf(perToken, element));
    attributes.push_back(b.getDictionaryAttr(
        {b.getNamedAttr(attr::name, b.getStringAttr(inputName)),
         b.getNamedAttr(attr::dims, namesOf(b, perToken))}));
  }
  auto model =
      ModelOp::create(b, b.getUnknownLoc(), name, b.getFunctionType(types, {}),
                      StringAttr(), b.getArrayAttr(attributes), ArrayAttr());
  Block &body = model.getBody().emplaceBlock();
  for (Type type : types)
    body.addArgument(type, b.getUnknownLoc());
  return model;
}

void stretto::buildModel(ModuleOp module, StringRef name,
                         const TransformerOptions &options,
                         const ModelDims &dims, bool decoderTakesTokens) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Location loc = b.getUnknownLoc();
  ModelOp model = openModel(b, name, dims);
  Block &body = model.getBody().front();
  b.setInsertionPointToEnd(&body);
  Value tokens = body.getArgument(0), labels = body.getArgument(1),
        mask = body.getArgument(2);

  Type hidden = typeOf({dims.batch, dims.seq, dims.embed}, b.getF32Type());
  Value x = CallOp::create(b, loc, hidden, "embed", tokens, "embed", nullptr)
                .getResult(0);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    SmallVector<Value> operands = {x};
    if (decoderTakesTokens)
      operands.push_back(tokens);
    x = CallOp::create(b, loc, hidden, "decoder", operands,
                       "layers." + std::to_string(layer), nullptr)
            .getResult(0);
  }
  DictionaryAttr tie;
  if (options.tied)
    tie = b.getDictionaryAttr(
        b.getNamedAttr("table", b.getStringAttr("embed.table")));
  Type scalar = RankedTensorType::get({}, b.getF32Type());
  Type logits = typeOf({dims.batch, dims.seq, dims.vocab}, b.getF32Type());
  auto head = CallOp::create(b, loc, TypeRange{scalar, scalar, logits}, "head",
                             ValueRange{x, labels, mask}, "head", tie);
  LossOp::create(b, loc, head.getResult(0), head.getResult(1),
                 b.getF64FloatAttr(1.0));
  OutputOp::create(b, loc, head.getResult(2), "logits");
}

OwningOpRef<ModuleOp> stretto::emptyModule(MLIRContext *context) {
  context->getOrLoadDialect<StrettoDialect>();
  return ModuleOp::create(UnknownLoc::get(context));
}
