//===- Constraints.cpp - words that steer propagation ---------------------===//

#include "RuleUtils.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

static void inferAlike(ValueRange operands, SmallVectorImpl<Type> &inferred) {
  for (Value operand : operands)
    inferred.push_back(make(shape(operand), tensor(operand).getElementType()));
}

LogicalResult ConstrainOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &inferred) {
  inferAlike(operands, inferred);
  return success();
}

LogicalResult ConstrainOp::verify() {
  int64_t rank = tensor(getX()).getRank();
  if (getConstraint().getRank() != rank)
    return emitOpError("constraint has ")
           << getConstraint().getRank() << " dimensions, the value has " << rank
           << "; write one {axes} or {?} per dimension";
  return success();
}

/// Linear; which partial sums pass is the constraint's say (see `assign`).
OpRule ConstrainOp::getShardingRule() {
  OpRule rule = pointwise(*this);
  rule.linearSets = {{{0}}};
  return rule;
}

LogicalResult PropagationBarrierOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties, RegionRange, SmallVectorImpl<Type> &inferred) {
  inferAlike(operands, inferred);
  return success();
}

OpRule PropagationBarrierOp::getShardingRule() {
  OpRule rule = pointwise(*this);
  rule.linearSets = {{{0}}};
  return rule;
}

LogicalResult ShardAlikeOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr,
    OpaqueProperties, RegionRange, SmallVectorImpl<Type> &inferred) {
  inferAlike(operands, inferred);
  return success();
}

LogicalResult ShardAlikeOp::verify() {
  if (getValues().size() < 2)
    return emitOpError("needs two values or more, got ") << getValues().size();
  for (auto [i, value] : llvm::enumerate(getValues()))
    if (!compatible(shape(value), shape(getValues()[0])))
      return emitOpError("value ")
             << i << " is " << bareType(value.getType()) << ", value 0 is "
             << bareType(getValues()[0].getType())
             << "; values that lie alike have one shape";
  return success();
}

/// One factor per dimension for all values; partial all together or not.
OpRule ShardAlikeOp::getShardingRule() {
  OpRule rule = pointwise(*this);
  LinearSet &all = rule.linearSets.emplace_back();
  for (unsigned i = 0; i < getValues().size(); ++i)
    all.operands.push_back(i);
  return rule;
}
