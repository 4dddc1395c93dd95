//===- Attention.cpp - attention and its adjoint --------------------------===//

#include "RuleUtils.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

static LogicalResult verifyFinite(Operation *op, StringRef name,
                                  const APFloat &value) {
  if (value.isFinite())
    return success();
  return op->emitOpError() << name << " is not finite";
}

LogicalResult
AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  ArrayRef<int64_t> q = shape(operands[0]);
  if (q.size() != 4)
    return emitOptionalError(loc, "q must be [batch, q_len, heads, head_dim]");
  SmallVector<int64_t> out(q), lse = {q[0], q[2], q[1]};
  if (adaptor.getBlocks())
    for (auto *extents : {&out, &lse})
      extents->insert(extents->begin(), int64_t(*adaptor.getBlocks()));
  Type element = tensor(operands[0]).getElementType();
  inferred.append({make(out, element), make(lse, statisticsType(element))});
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
  if (failed(verifyElement(op, "k", op.getK(), elementOf(op.getQ()))) ||
      failed(verifyElement(op, "v", op.getV(), elementOf(op.getQ()))))
    return failure();
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
  Type element = elementOf(getQ());
  return failure(
      failed(verifyElement(*this, "out", getOut(), element)) ||
      failed(verifyElement(*this, "dout", getDout(), element)) ||
      failed(verifyElement(*this, "lse", getLse(), statisticsType(element))) ||
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

LogicalResult AttentionGradOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &inferred) {
  inferred.append({bareType(operands[0].getType()),
                   bareType(operands[1].getType()),
                   bareType(operands[2].getType())});
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
