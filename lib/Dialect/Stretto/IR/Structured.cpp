//===- Structured.cpp - contractions, reductions, shape -------------------===//

#include "RuleUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (!tensor(getResult()).hasStaticShape())
    return emitOpError("needs a static shape; use a rank-0 constant, which "
                       "aligns with any shape");
  return success();
}

OpRule ConstantOp::getShardingRule() {
  OpRule rule;
  rule.results.push_back(OpRule::plain(rule.addFactors(shape(getResult()))));
  return rule;
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

/// "b s e, e h d -> b s h d" into label lists; failure when the form is wrong.
static FailureOr<EinsumOp::Labels> parseSpec(StringRef spec) {
  auto [inputs, result] = spec.split("->");
  auto [lhs, rhs] = inputs.split(",");
  if (!spec.contains("->") || !inputs.contains(",") || rhs.contains(","))
    return failure();
  EinsumOp::Labels labels;
  auto words = [](StringRef text, SmallVectorImpl<StringRef> &out) {
    text.split(out, ' ', -1, /*KeepEmpty=*/false);
  };
  words(lhs, labels.lhs);
  words(rhs, labels.rhs);
  words(result, labels.result);
  return labels;
}

EinsumOp::Labels EinsumOp::getLabels() { return *parseSpec(getSpec()); }

LogicalResult
EinsumOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto labels = parseSpec(adaptor.getSpec());
  if (failed(labels))
    return emitOptionalError(
        loc, "malformed einsum \"", adaptor.getSpec(),
        "\"; expected a form like \"b s e, e f -> b s f\"");
  llvm::StringMap<int64_t> extents;
  auto bind = [&](ArrayRef<StringRef> names, Value value) -> LogicalResult {
    if (names.size() != shape(value).size())
      return emitOptionalError(
          loc, "einsum \"", adaptor.getSpec(), "\" names ", names.size(),
          " dimensions for an operand of rank ", shape(value).size());
    for (auto [name, extent] : llvm::zip(names, shape(value))) {
      auto [it, fresh] = extents.try_emplace(name, extent);
      if (!fresh && !ShapedType::isDynamic(it->second) &&
          !ShapedType::isDynamic(extent) && it->second != extent)
        return emitOptionalError(loc, "einsum label '", name, "' is ",
                                 it->second, " and ", extent);
      it->second = mergeExtent(it->second, extent);
    }
    return success();
  };
  if (failed(bind(labels->lhs, operands[0])) ||
      failed(bind(labels->rhs, operands[1])))
    return failure();
  SmallVector<int64_t> dims;
  for (StringRef name : labels->result) {
    auto it = extents.find(name);
    if (it == extents.end())
      return emitOptionalError(loc, "einsum label '", name,
                               "' of the result is in no operand");
    dims.push_back(it->second);
  }
  inferred.push_back(make(dims, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult EinsumOp::verify() {
  if (elementOf(getLhs()) != elementOf(getRhs()))
    return emitOpError("operands are ")
           << elementOf(getLhs()) << " and " << elementOf(getRhs())
           << "; use stretto.convert";
  // Runs before the inferred types are checked, hence on any spec.
  if (failed(parseSpec(getSpec())))
    return emitOpError("malformed spec \"")
           << getSpec() << "\"; expected a form like \"b s e, e f -> b s f\"";
  Labels labels = getLabels();
  auto repeated = [](ArrayRef<StringRef> names) {
    llvm::StringSet<> seen;
    return llvm::any_of(names,
                        [&](StringRef n) { return !seen.insert(n).second; });
  };
  if (repeated(labels.lhs) || repeated(labels.rhs) || repeated(labels.result))
    return emitOpError("has a label twice in one tensor");
  for (auto [names, other] : {std::pair(&labels.lhs, &labels.rhs),
                              std::pair(&labels.rhs, &labels.lhs)})
    for (StringRef name : *names)
      if (!llvm::is_contained(*other, name) &&
          !llvm::is_contained(labels.result, name))
        return emitOpError("label '")
               << name << "' is in one operand only and not in the result; "
               << "reduce it first";
  return success();
}

OpRule EinsumOp::getShardingRule() {
  Labels labels = getLabels();
  OpRule rule;
  llvm::StringMap<unsigned> ids;
  auto add = [&](ArrayRef<StringRef> names, Value value) {
    DimFactors dims;
    for (auto [name, extent] : llvm::zip(names, shape(value))) {
      auto [it, fresh] = ids.try_emplace(name, 0);
      if (fresh) {
        bool kept = llvm::is_contained(labels.result, name);
        it->second = rule.addFactor(extent, kept ? FactorKind::Parallel
                                                 : FactorKind::Reduction);
      }
      dims.push_back({it->second});
    }
    return dims;
  };
  rule.operands.push_back(add(labels.lhs, getLhs()));
  rule.operands.push_back(add(labels.rhs, getRhs()));
  rule.results.push_back(add(labels.result, getResult()));
  rule.linearSets = {{{0}}, {{1}}};
  return rule;
}

//===----------------------------------------------------------------------===//
// reduce, broadcast, transpose
//===----------------------------------------------------------------------===//

LogicalResult
ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<int64_t> dims;
  for (auto [dim, extent] : llvm::enumerate(shape(operands[0])))
    if (!llvm::is_contained(adaptor.getDims(), int64_t(dim)))
      dims.push_back(extent);
  inferred.push_back(make(dims, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult rule::verifyDims(Operation *op, ArrayRef<int64_t> dims,
                               int64_t rank) {
  for (unsigned i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= rank)
      return op->emitOpError("dimension ")
             << dims[i] << " is outside rank " << rank;
    if (i && dims[i] <= dims[i - 1])
      return op->emitOpError("dimensions must ascend");
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  bool logical = getKind() == ReduceKind::And || getKind() == ReduceKind::Or;
  if (logical && !tensor(getX()).getElementType().isInteger(1))
    return emitOpError("'") << stringifyReduceKind(getKind())
                            << "' is for i1; use stretto.compare first";
  return verifyDims(*this, getDims(), shape(getX()).size());
}

/// How results of shards combine: on 0 and 1, and is min, or is max.
static ReduceKind kindOfPartials(ReduceKind kind) {
  if (kind == ReduceKind::And)
    return ReduceKind::Min;
  return kind == ReduceKind::Or ? ReduceKind::Max : kind;
}

/// Shards would each start from `init`: with it the dimensions are blocked (and
/// the operation decomposed).
OpRule ReduceOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> kept, all;
  FactorKind reducing = getInit() ? FactorKind::Blocked : FactorKind::Reduction;
  for (auto [dim, extent] : llvm::enumerate(shape(getX()))) {
    bool reduced = llvm::is_contained(getDims(), int64_t(dim));
    all.push_back(rule.addFactor(extent,
                                 reduced ? reducing : FactorKind::Parallel,
                                 kindOfPartials(getKind())));
    if (!reduced)
      kept.push_back(all.back());
  }
  rule.operands.push_back(OpRule::plain(all));
  rule.results.push_back(OpRule::plain(kept));
  if (getKind() == ReduceKind::Sum && (!getInit() || getInit()->isZero()))
    rule.linearSets = {{{0}}};
  return rule;
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = shape(getX()), to = shape(getResult());
  if (getDims().size() != from.size())
    return emitOpError("expected ") << from.size() << " dims";
  if (failed(verifyDims(*this, getDims(), to.size())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (!compatible(from[i], to[dim]))
      return emitOpError("operand dimension ")
             << i << " is " << from[i] << ", result dimension " << dim << " is "
             << to[dim];
  return success();
}

OpRule BroadcastOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> factors = rule.addFactors(shape(getResult())), used;
  for (int64_t dim : getDims())
    used.push_back(factors[dim]);
  rule.operands.push_back(OpRule::plain(used));
  rule.results.push_back(OpRule::plain(factors));
  rule.linearSets = {{{0}}};
  return rule;
}

LogicalResult
TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  ArrayRef<int64_t> from = shape(operands[0]);
  SmallVector<int64_t> dims;
  for (int64_t dim : adaptor.getPermutation()) {
    if (dim < 0 || dim >= int64_t(from.size()))
      return emitOptionalError(loc, "permutation entry ", dim,
                               " is outside rank ", from.size());
    dims.push_back(from[dim]);
  }
  inferred.push_back(make(dims, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult TransposeOp::verify() {
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, shape(getX()).size())))
    return emitOpError("expected a permutation of the ")
           << shape(getX()).size() << " dimensions";
  return success();
}

OpRule TransposeOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> factors = rule.addFactors(shape(getX())), permuted;
  for (int64_t dim : getPermutation())
    permuted.push_back(factors[dim]);
  rule.operands.push_back(OpRule::plain(factors));
  rule.results.push_back(OpRule::plain(permuted));
  rule.linearSets = {{{0}}};
  return rule;
}

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &inferred) {
  inferred.push_back(make(shape(operands[0]), IntegerType::get(context, 32)));
  return success();
}

LogicalResult IotaOp::verify() {
  return verifyDims(*this, {int64_t(getDim())}, shape(getLike()).size());
}

OpRule IotaOp::getShardingRule() { return pointwise(*this); }

void IotaOp::localizeAttributes(ArrayRef<DistAttr>, ArrayRef<DistAttr> results,
                                Operation *original) {
  auto source = cast<IotaOp>(original);
  setOffsetAttr(OffsetAttr::ofShard(results[0], getDim(),
                                    shape(source.getResult())[getDim()]));
}

//===----------------------------------------------------------------------===//
// embedding and its adjoint
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &inferred) {
  if (shape(operands[0]).empty())
    return emitOptionalError(loc, "embedding table has rank 0");
  SmallVector<int64_t> dims(shape(operands[1]));
  llvm::append_range(dims, shape(operands[0]).drop_front());
  inferred.push_back(make(dims, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult EmbeddingOp::verify() {
  if (!tensor(getIds()).getElementType().isInteger(32))
    return emitOpError("ids must be i32");
  return success();
}

/// Rows are a reduction: a shard of the table gives zeros for foreign ids.
OpRule EmbeddingOp::getShardingRule() {
  OpRule rule;
  unsigned rows = rule.addFactor(shape(getTable())[0], FactorKind::Reduction);
  SmallVector<unsigned> ids = rule.addFactors(shape(getIds()));
  SmallVector<unsigned> features =
      rule.addFactors(shape(getTable()).drop_front());
  SmallVector<unsigned> table{rows}, result(ids);
  llvm::append_range(table, features);
  llvm::append_range(result, features);
  rule.operands = {OpRule::plain(table), OpRule::plain(ids)};
  rule.results = {OpRule::plain(result)};
  rule.linearSets = {{{0}}};
  return rule;
}

void EmbeddingOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                     ArrayRef<DistAttr>, Operation *original) {
  auto source = cast<EmbeddingOp>(original);
  setOffsetAttr(
      OffsetAttr::ofShard(operands[0], 0, shape(source.getTable())[0]));
}

LogicalResult EmbeddingGradOp::verify() {
  ArrayRef<int64_t> ids = shape(getIds()), dy = shape(getDy()),
                    result = shape(getResult());
  if (result.empty() || dy.size() != ids.size() + result.size() - 1 ||
      !compatible(dy.take_front(ids.size()), ids) ||
      !compatible(dy.drop_front(ids.size()), result.drop_front()))
    return emitOpError("expected dy [ids..., features...] and a result [rows, "
                       "features...]");
  if (!tensor(getIds()).getElementType().isInteger(32))
    return emitOpError("ids must be i32");
  return success();
}

OpRule EmbeddingGradOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> ids;
  for (int64_t extent : shape(getIds()))
    ids.push_back(rule.addFactor(extent, FactorKind::Reduction));
  unsigned rows = rule.addFactor(shape(getResult())[0]);
  SmallVector<unsigned> features =
      rule.addFactors(shape(getResult()).drop_front());
  SmallVector<unsigned> dy(ids), result{rows};
  llvm::append_range(dy, features);
  llvm::append_range(result, features);
  rule.operands = {OpRule::plain(ids), OpRule::plain(dy)};
  rule.results = {OpRule::plain(result)};
  rule.linearSets = {{{1}}};
  return rule;
}

void EmbeddingGradOp::localizeAttributes(ArrayRef<DistAttr>,
                                         ArrayRef<DistAttr> results,
                                         Operation *original) {
  auto source = cast<EmbeddingGradOp>(original);
  setOffsetAttr(
      OffsetAttr::ofShard(results[0], 0, shape(source.getResult())[0]));
}
