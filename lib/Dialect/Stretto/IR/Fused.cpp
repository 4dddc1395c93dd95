//===- Fused.cpp - norms, cross entropy, optimizers -----------------------===//

#include "RuleUtils.h"
#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

#define INFER(OP)                                                              \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *context, std::optional<Location> loc, ValueRange operands,  \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &inferred)

static Type bare(Value value) { return bareType(value.getType()); }

LogicalResult rule::verifyShape(Operation *op, StringRef name, Value value,
                                ArrayRef<int64_t> expected) {
  if (compatible(shape(value), expected))
    return success();
  return op->emitOpError() << name << " is "
                           << make(shape(value), tensor(value).getElementType())
                           << ", expected the shape [" << expected << "]";
}

LogicalResult rule::verifySameShape(Operation *op, StringRef name, Value value,
                                    StringRef modelName, Value model) {
  if (compatible(shape(value), shape(model)))
    return success();
  return op->emitOpError() << name << " has the shape [" << shape(value)
                           << "], expected that of " << modelName << ", ["
                           << shape(model) << "]";
}

LogicalResult rule::verifyElement(Operation *op, StringRef name, Value value,
                                  Type expected) {
  if (elementOf(value) == expected)
    return success();
  return op->emitOpError() << name << " is " << elementOf(value)
                           << ", expected " << expected;
}

LogicalResult rule::verifyRange(Operation *op, StringRef name,
                                const APFloat &value, double limit) {
  double number = value.convertToDouble();
  if (number >= 0 && number < limit)
    return success();
  InFlightDiagnostic error = op->emitOpError() << name << " " << number;
  if (std::isinf(limit))
    return error << " is not a finite number of at least 0";
  return error << " is not in [0, " << limit << ")";
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
// cross entropy
//===----------------------------------------------------------------------===//

INFER(CrossEntropyOp) {
  if (shape(operands[0]).empty())
    return emitOptionalError(loc, "logits have rank 0");
  Type rows = make(shape(operands[0]).drop_back(),
                   statisticsType(elementOf(operands[0])));
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
  Type element = statisticsType(elementOf(getLogits()));
  if (failed(verifyElement(*this, "lse", getLse(), element)) ||
      failed(verifyElement(*this, "dloss", getDloss(), element)))
    return failure();
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
