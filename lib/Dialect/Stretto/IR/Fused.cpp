//===- Fused.cpp - norms, attention, cross entropy, optimizers ------------===//

#include "RuleUtils.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

#define INFER(OP)                                                              \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *context, std::optional<Location> loc, ValueRange operands,  \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &inferred)

static Type bare(Value value) { return bareType(value.getType()); }

/// One line of a verifier: `value` (called `name`) has `expected` extents.
static LogicalResult verifyShape(Operation *op, StringRef name, Value value,
                                 ArrayRef<int64_t> expected) {
  if (compatible(shape(value), expected))
    return success();
  return op->emitOpError() << name << " is "
                           << make(shape(value), tensor(value).getElementType())
                           << ", expected the shape [" << expected << "]";
}

static LogicalResult verifySameShape(Operation *op, StringRef name, Value value,
                                     StringRef modelName, Value model) {
  if (compatible(shape(value), shape(model)))
    return success();
  return op->emitOpError() << name << " has the shape [" << shape(value)
                           << "], expected that of " << modelName << ", ["
                           << shape(model) << "]";
}

/// `value` of attribute `name` lies in [0, limit); infinity: only finite.
static LogicalResult
verifyRange(Operation *op, StringRef name, const APFloat &value,
            double limit = std::numeric_limits<double>::infinity()) {
  double number = value.convertToDouble();
  if (number >= 0 && number < limit)
    return success();
  InFlightDiagnostic error = op->emitOpError() << name << " " << number;
  if (std::isinf(limit))
    return error << " is not a finite number of at least 0";
  return error << " is not in [0, " << limit << ")";
}

static LogicalResult verifyFinite(Operation *op, StringRef name,
                                  const APFloat &value) {
  if (value.isFinite())
    return success();
  return op->emitOpError() << name << " is not finite";
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

INFER(SoftmaxOp) {
  inferred.push_back(bare(operands[0]));
  return success();
}

LogicalResult SoftmaxOp::verify() {
  if (getDim() >= shape(getX()).size())
    return emitOpError("dimension ")
           << getDim() << " is outside rank " << shape(getX()).size();
  return success();
}

OpRule SoftmaxOp::getShardingRule() {
  OpRule rule = pointwise(*this);
  rule.factors[getDim()].kind = FactorKind::Blocked;
  return rule;
}

//===----------------------------------------------------------------------===//
// Normalisations over the last dimension
//===----------------------------------------------------------------------===//

/// x [rows..., n], vectors [n]; further results are of shape [n] and sum over
/// rows.
static OpRule normRule(Operation *op) {
  OpRule rule;
  ArrayRef<int64_t> dims = shape(op->getOperand(0));
  bool hasVectorResults = op->getNumResults() > 1;
  SmallVector<unsigned> all;
  for (int64_t extent : dims.drop_back())
    all.push_back(rule.addFactor(extent, hasVectorResults
                                             ? FactorKind::Reduction
                                             : FactorKind::Parallel));
  all.push_back(rule.addFactor(dims.back(), FactorKind::Blocked));
  for (Value operand : op->getOperands())
    rule.operands.push_back(trailing(all, shape(operand).size()));
  for (Value result : op->getResults())
    rule.results.push_back(trailing(all, shape(result).size()));
  return rule;
}

static OpRule normRule(Operation *op, ArrayRef<unsigned> linearIn) {
  OpRule rule = normRule(op);
  rule.linearSets.emplace_back().operands.assign(linearIn.begin(),
                                                 linearIn.end());
  return rule;
}

/// Everything is linear in dy; dx alone reads gamma.
static OpRule normGradRule(Operation *op) {
  OpRule rule = normRule(op);
  rule.linearSets = {{{2}}, {{1}, {0}}};
  return rule;
}

/// x [rows..., n] and `vectors` [n].
static LogicalResult verifyNorm(Operation *op, ValueRange vectors,
                                const APFloat &eps) {
  ArrayRef<int64_t> dims = shape(op->getOperand(0));
  if (dims.empty())
    return op->emitOpError("x has rank 0");
  for (Value vector : vectors)
    if (!compatible(shape(vector), dims.take_back(1)))
      return op->emitOpError("scale and shift must have the extent ")
             << dims.back() << " of the last dimension";
  return verifyRange(op, "eps", eps);
}

template <typename OpT> static LogicalResult verifyNormGrad(OpT op) {
  if (failed(verifyNorm(op, {op.getGamma()}, op.getEps())))
    return failure();
  return verifySameShape(op, "dy", op.getDy(), "x", op.getX());
}

INFER(LayerNormOp) {
  inferred.push_back(bare(operands[0]));
  return success();
}
LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, {getGamma(), getBeta()}, getEps());
}
OpRule LayerNormOp::getShardingRule() { return normRule(*this, {1, 2}); }

INFER(LayerNormGradOp) {
  inferred.append({bare(operands[0]), bare(operands[1]), bare(operands[1])});
  return success();
}
LogicalResult LayerNormGradOp::verify() { return verifyNormGrad(*this); }
OpRule LayerNormGradOp::getShardingRule() { return normGradRule(*this); }

INFER(RmsNormOp) {
  inferred.push_back(bare(operands[0]));
  return success();
}
LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, {getGamma()}, getEps());
}
OpRule RmsNormOp::getShardingRule() { return normRule(*this, {1}); }

INFER(RmsNormGradOp) {
  inferred.append({bare(operands[0]), bare(operands[1])});
  return success();
}
LogicalResult RmsNormGradOp::verify() { return verifyNormGrad(*this); }
OpRule RmsNormGradOp::getShardingRule() { return normGradRule(*this); }

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

INFER(RopeOp) {
  inferred.push_back(bare(operands[0]));
  return success();
}

LogicalResult RopeOp::verify() {
  ArrayRef<int64_t> x = shape(getX()), positions = shape(getPositions());
  if (x.size() != 4 || !compatible(positions, x.take_front(2)))
    return emitOpError("expected x [batch, seq, heads, head_dim] and positions "
                       "[batch, seq]");
  if (ShapedType::isDynamic(x[3]) || x[3] % 2 != 0)
    return emitOpError("head_dim must be even, got ") << x[3];
  if (!tensor(getPositions()).getElementType().isInteger(32))
    return emitOpError("positions must be i32, got ")
           << tensor(getPositions()).getElementType();
  double base = getBase().convertToDouble();
  if (!(base > 0 && std::isfinite(base)))
    return emitOpError("base ") << base << " is not a positive number";
  return success();
}

OpRule RopeOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> all = rule.addFactors(shape(getX()));
  rule.factors[3].kind = FactorKind::Blocked;
  rule.operands = {OpRule::plain(all),
                   OpRule::plain(ArrayRef(all).take_front(2))};
  rule.results = {OpRule::plain(all)};
  rule.linearSets = {{{0}}};
  return rule;
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

INFER(AttentionOp) {
  Adaptor adaptor(operands, attributes, properties, regions);
  ArrayRef<int64_t> q = shape(operands[0]);
  if (q.size() != 4)
    return emitOptionalError(loc, "q must be [batch, q_len, heads, head_dim]");
  SmallVector<int64_t> out(q), lse = {q[0], q[2], q[1]};
  if (adaptor.getBlocks())
    for (auto *extents : {&out, &lse})
      extents->insert(extents->begin(), int64_t(*adaptor.getBlocks()));
  for (ArrayRef<int64_t> extents : {ArrayRef(out), ArrayRef(lse)})
    inferred.push_back(make(extents, tensor(operands[0]).getElementType()));
  return success();
}

/// What attention and its adjoint have in common.
template <typename OpT> static LogicalResult verifyAttention(OpT op) {
  ArrayRef<int64_t> q = shape(op.getQ()), k = shape(op.getK()),
                    v = shape(op.getV());
  if (q.size() != 4 || k.size() != 4 || !compatible(k, v) ||
      !compatible(q.take_front(1), k.take_front(1)) ||
      !compatible(q.take_back(1), k.take_back(1)))
    return op.emitOpError(
        "expected q [batch, q_len, heads, head_dim] and k and v [batch, "
        "kv_len, kv_heads, head_dim] with the batch and head_dim of q");
  if (q[2] < 1 || k[2] < 1)
    return op.emitOpError("needs static, positive numbers of heads");
  if (q[2] % k[2] != 0)
    return op.emitOpError()
           << q[2] << " heads do not group over " << k[2] << " kv heads";
  for (auto [name, number] :
       {std::pair("heads_global", op.getHeadsGlobal()),
        std::pair("samples", op.getSamples()),
        std::pair("queries", op.getQueries()), std::pair("keys", op.getKeys())})
    if (number && int64_t(*number) < 1)
      return op.emitOpError(name)
             << " is " << int64_t(*number) << ", expected at least 1";
  if (failed(verifyRange(op, "dropout probability", op.getP(), 1.0)))
    return failure();
  return verifyFinite(op, "scale", op.getScale());
}

LogicalResult AttentionOp::verify() {
  if (getBlocks() && int64_t(*getBlocks()) < 1)
    return emitOpError("cuts the keys in ")
           << int64_t(*getBlocks()) << " blocks, expected at least 1";
  DistAttr keys = getDist(getK());
  if (getBlocks() && keys && *getBlocks() % keys.getNumShards(1) != 0)
    return emitOpError("cuts the keys in ")
           << int64_t(*getBlocks()) << " blocks, but they lie in "
           << keys.getNumShards(1) << " shards";
  return verifyAttention(*this);
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  ArrayRef<int64_t> q = shape(getQ());
  return failure(
      failed(verifySameShape(*this, "out", getOut(), "q", getQ())) ||
      failed(verifySameShape(*this, "dout", getDout(), "q", getQ())) ||
      failed(verifyShape(*this, "lse", getLse(), {q[0], q[2], q[1]})));
}

/// Factors that attention and its adjoint share.
namespace {
struct AttentionFactors {
  unsigned batch, group, within, qLen, kvLen, dim;
  SmallVector<unsigned, 2> heads;

  /// Query heads are a compound of kv heads (major) and queries per kv head:
  /// with more axes than kv heads the minor part takes the rest and k, v stay
  /// replicated over it. A part of size 1 is left out: what stays is no
  /// compound and may be padded. `summed`: where k and v lack a factor, their
  /// gradients are sums over it.
  template <typename OpT>
  AttentionFactors(OpT op, OpRule &rule, FactorKind summed) {
    ArrayRef<int64_t> q = shape(op.getQ()), k = shape(op.getK());
    batch = rule.addFactor(q[0]);
    group = rule.addFactor(k[2]);
    within = rule.addFactor(q[2] / k[2], summed);
    qLen = rule.addFactor(q[1], summed);
    kvLen = rule.addFactor(k[1], summed);
    dim = rule.addFactor(q[3], FactorKind::Blocked);
    rule.factors[qLen].trims = rule.factors[kvLen].trims = true;
    heads = {group, within};
    if (q[2] == k[2])
      heads = {group};
    else if (k[2] == 1)
      heads = {within};
  }
  DimFactors query() const { return {{batch}, {qLen}, heads, {dim}}; }
  DimFactors key() const { return {{batch}, {kvLen}, {group}, {dim}}; }
  DimFactors lse() const { return {{batch}, heads, {qLen}}; }
};
} // namespace

/// The positions' place; samples and heads as well where dropout needs them.
template <typename OpT>
static void localizeAttention(OpT op, OpT source, DistAttr queries,
                              DistAttr keys) {
  ArrayRef<int64_t> q = shape(source.getQ()), k = shape(source.getK());
  auto isWhole = [](DistAttr dist) {
    return dist.getDimAxes(1).empty() && dist.getPaddedExtents()[1] == 0;
  };
  if (!isWhole(queries) || !isWhole(keys)) {
    op.setQueries(source.getQueries().value_or(q[1]));
    op.setKeys(source.getKeys().value_or(k[1]));
    op.setQueryOffsetAttr(OffsetAttr::ofShard(queries, 1, q[1]));
    op.setKeyOffsetAttr(OffsetAttr::ofShard(keys, 1, k[1]));
  }
  if (op.getP().isZero())
    return;
  op.setHeadsGlobal(q[2]);
  op.setBatchOffsetAttr(
      OffsetAttr::ofShard(queries, 0, q[0], source.getSamples().value_or(0)));
  op.setHeadOffsetAttr(OffsetAttr::ofShard(queries, 2, q[2]));
}

/// In blocks the keys may be sharded: whole blocks per shard. Otherwise, and
/// along head_dim, the softmax couples shards: the operation is decomposed.
OpRule AttentionOp::getShardingRule() {
  OpRule rule;
  AttentionFactors factors(*this, rule, FactorKind::Parallel);
  rule.operands = {factors.query(), factors.key(), factors.key()};
  rule.results = {factors.query(), factors.lse()};
  rule.linearSets = {{{2}, {0}}}; // lse does not read v
  rule.factors[factors.kvLen].kind = FactorKind::Blocked;
  if (getBlocks()) {
    unsigned block = rule.addFactor(int64_t(*getBlocks()), FactorKind::Window);
    rule.factors[factors.kvLen].kind = FactorKind::Window;
    rule.factors[factors.kvLen].partner = block;
    rule.factors[block].partner = factors.kvLen;
    for (DimFactors &dims : rule.results)
      dims.insert(dims.begin(), {block});
  }
  return rule;
}

void AttentionOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                     ArrayRef<DistAttr>, Operation *original) {
  localizeAttention(*this, cast<AttentionOp>(original), operands[0],
                    operands[1]);
  if (getBlocks())
    setBlocks(*getBlocks() / operands[1].getNumShards(1));
}

INFER(AttentionGradOp) {
  inferred.append({bare(operands[0]), bare(operands[1]), bare(operands[2])});
  return success();
}

/// lse is that of all keys, so that shards of the keys need nothing of each
/// other: dq is a sum over keys, dk and dv are sums over queries.
OpRule AttentionGradOp::getShardingRule() {
  OpRule rule;
  AttentionFactors factors(*this, rule, FactorKind::Reduction);
  DimFactors query = factors.query(), key = factors.key();
  rule.operands = {query, key, key, query, factors.lse(), query};
  rule.results = {query, key, key};
  // dq and dk hold dout v - dout out; dv reads neither v nor out.
  rule.linearSets = {{{5}}, {{2, 3}, {0, 1}}};
  return rule;
}

void AttentionGradOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                         ArrayRef<DistAttr>,
                                         Operation *original) {
  localizeAttention(*this, cast<AttentionGradOp>(original), operands[0],
                    operands[1]);
}

//===----------------------------------------------------------------------===//
// cross entropy
//===----------------------------------------------------------------------===//

INFER(CrossEntropyOp) {
  if (shape(operands[0]).empty())
    return emitOptionalError(loc, "logits have rank 0");
  Type rows = make(shape(operands[0]).drop_back(),
                   tensor(operands[0]).getElementType());
  inferred.append({rows, rows});
  return success();
}

template <typename OpT> static LogicalResult verifyCrossEntropy(OpT op) {
  if (shape(op.getLogits()).empty() ||
      !compatible(shape(op.getLabels()), shape(op.getLogits()).drop_back()) ||
      !tensor(op.getLabels()).getElementType().isInteger(32))
    return op.emitOpError("expected i32 labels shaped like the logits without "
                          "their last dimension");
  return verifyRange(op, "smoothing", op.getSmoothing(), 1.0);
}

LogicalResult CrossEntropyOp::verify() { return verifyCrossEntropy(*this); }

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(verifyCrossEntropy(*this)))
    return failure();
  ArrayRef<int64_t> rows = shape(getLogits()).drop_back();
  if (failed(verifyShape(*this, "lse", getLse(), rows)) ||
      failed(verifyShape(*this, "dloss", getDloss(), rows)))
    return failure();
  Type element = tensor(getLogits()).getElementType();
  if (tensor(getLse()).getElementType() != element ||
      tensor(getDloss()).getElementType() != element)
    return emitOpError("lse and dloss must have the element type ")
           << element << " of the logits";
  if (int64_t(getVocabulary()) < 1)
    return emitOpError("vocabulary is ")
           << int64_t(getVocabulary()) << ", expected at least 1";
  return success();
}

OpRule CrossEntropyOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> all = rule.addFactors(shape(getLogits()));
  rule.factors.back().kind = FactorKind::Blocked; // decomposed when sharded
  DimFactors rows = OpRule::plain(ArrayRef(all).drop_back());
  rule.operands = {OpRule::plain(all), rows};
  rule.results = {rows, rows};
  return rule;
}

INFER(CrossEntropyGradOp) {
  inferred.push_back(bare(operands[0]));
  return success();
}

OpRule CrossEntropyGradOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> all = rule.addFactors(shape(getLogits()));
  DimFactors rows = OpRule::plain(ArrayRef(all).drop_back());
  rule.operands = {OpRule::plain(all), rows, rows, rows};
  rule.results = {OpRule::plain(all)};
  rule.linearSets = {{{3}}};
  return rule;
}

void CrossEntropyGradOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                            ArrayRef<DistAttr>,
                                            Operation *original) {
  auto source = cast<CrossEntropyGradOp>(original);
  unsigned last = shape(source.getLogits()).size() - 1;
  setOffsetAttr(
      OffsetAttr::ofShard(operands[0], last, shape(source.getLogits())[last]));
}

//===----------------------------------------------------------------------===//
// Optimizers: pointwise in the parameter, scalars replicated
//===----------------------------------------------------------------------===//

static OpRule optimizerRule(Operation *op, unsigned pointwiseOperands) {
  OpRule rule;
  SmallVector<unsigned> all = rule.addFactors(shape(op->getOperand(0)));
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (index < pointwiseOperands) {
      rule.operands.push_back(OpRule::plain(all));
      continue;
    }
    DimFactors scalars;
    for (int64_t extent : shape(operand))
      scalars.push_back({rule.addFactor(extent, FactorKind::Blocked)});
    rule.operands.push_back(scalars);
  }
  rule.results.assign(op->getNumResults(), OpRule::plain(all));
  return rule;
}

/// `like`: what has the parameter's shape, by name. `rates`: the hyper vector,
/// the clipping factor and the flag.
template <typename OpT>
static LogicalResult
verifyOptimizer(OpT op, ArrayRef<std::pair<StringRef, Value>> like) {
  for (auto [name, value] : like)
    if (failed(verifySameShape(op, name, value, "param", op.getParam())))
      return failure();
  return failure(failed(verifyShape(op, "hyper", op.getHyper(), {4})) ||
                 failed(verifyShape(op, "gscale", op.getGscale(), {})) ||
                 failed(verifyShape(op, "ok", op.getOk(), {})) ||
                 failed(verifyRange(op, "weight_decay", op.getWeightDecay())));
}

LogicalResult AdamWOp::verify() {
  return failure(
      failed(verifyOptimizer(
          *this, {{"grad", getGrad()}, {"m", getM()}, {"v", getV()}})) ||
      failed(verifyRange(*this, "beta1", getBeta1(), 1.0)) ||
      failed(verifyRange(*this, "beta2", getBeta2(), 1.0)) ||
      failed(verifyRange(*this, "eps", getEps())));
}

LogicalResult SgdOp::verify() {
  return failure(
      failed(verifyOptimizer(*this, {{"grad", getGrad()}, {"m", getM()}})) ||
      failed(verifyRange(*this, "momentum", getMomentum(), 1.0)));
}

INFER(AdamWOp) {
  inferred.append(3, bare(operands[0]));
  return success();
}
OpRule AdamWOp::getShardingRule() { return optimizerRule(*this, 4); }

INFER(SgdOp) {
  inferred.append(2, bare(operands[0]));
  return success();
}
/// Linear in the state, and in what the gradient is scaled with instead of it.
OpRule SgdOp::getShardingRule() {
  OpRule rule = optimizerRule(*this, 3);
  rule.linearSets = {{{0, 1, 2}}, {{0, 2, 4}}};
  return rule;
}
