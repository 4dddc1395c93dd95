//===- Elementwise.cpp - pointwise operations -----------------------------===//

#include "RuleUtils.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

//===----------------------------------------------------------------------===//
// Shapes and rules shared by all pointwise operations
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>>
rule::broadcastShapes(std::optional<Location> loc, ValueRange operands) {
  SmallVector<int64_t> result;
  for (Value operand : operands)
    if (shape(operand).size() > result.size())
      result.assign(shape(operand).begin(), shape(operand).end());
  for (Value operand : operands) {
    ArrayRef<int64_t> dims = shape(operand);
    unsigned lead = result.size() - dims.size();
    for (unsigned i = 0; i < dims.size(); ++i) {
      int64_t &extent = result[lead + i];
      if (!ShapedType::isDynamic(extent) && !ShapedType::isDynamic(dims[i]) &&
          extent != dims[i])
        return emitOptionalError(
            loc, "operands do not align: dimension ", lead + i,
            " of the result would be ", extent, " and ", dims[i],
            "; align to trailing dimensions or use stretto.broadcast");
      extent = mergeExtent(extent, dims[i]);
    }
  }
  return result;
}

OpRule rule::pointwise(Operation *op) {
  OpRule rule;
  Value result = op->getResult(0);
  SmallVector<unsigned> factors = rule.addFactors(shape(result));
  for (Value operand : op->getOperands())
    rule.operands.push_back(trailing(factors, shape(operand).size()));
  for (Value other : op->getResults())
    rule.results.push_back(trailing(factors, shape(other).size()));
  return rule;
}

bool rule::compatible(ArrayRef<int64_t> actual, ArrayRef<int64_t> expected) {
  if (actual.size() != expected.size())
    return false;
  for (auto [a, e] : llvm::zip(actual, expected))
    if (!ShapedType::isDynamic(a) && !ShapedType::isDynamic(e) && a != e)
      return false;
  return true;
}

/// Is the value the same for every element along the leading dimensions, i.e.
/// may a partial sum pass when only some operands are partial? A lower-rank
/// operand added to a partial one must be partial as well, so nothing special.
static OpRule linearIn(Operation *op, ArrayRef<SmallVector<unsigned, 2>> sets) {
  OpRule rule = pointwise(op);
  for (const auto &set : sets)
    rule.linearSets.push_back({set});
  return rule;
}

static LogicalResult inferLike(Value operand, SmallVectorImpl<Type> &inferred) {
  inferred.push_back(bareType(operand.getType()));
  return success();
}

static LogicalResult inferBroadcast(std::optional<Location> loc,
                                    ValueRange operands, Type element,
                                    SmallVectorImpl<Type> &inferred) {
  auto dims = broadcastShapes(loc, operands);
  if (failed(dims))
    return failure();
  inferred.push_back(make(*dims, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

#define INFER_UNARY(OP)                                                        \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>,   \
                                     ValueRange operands, DictionaryAttr,      \
                                     OpaqueProperties, RegionRange,            \
                                     SmallVectorImpl<Type> &inferred) {        \
    return inferLike(operands[0], inferred);                                   \
  }
#define UNARY(OP, LINEAR)                                                      \
  INFER_UNARY(OP)                                                              \
  OpRule OP::getShardingRule() {                                               \
    if (LINEAR)                                                                \
      return linearIn(*this, {{0}});                                           \
    return pointwise(*this);                                                   \
  }
#define UNARY_WITH_POLE(OP)                                                    \
  INFER_UNARY(OP)                                                              \
  OpRule OP::getShardingRule() {                                               \
    OpRule rule = pointwise(*this);                                            \
    rule.poles = {0};                                                          \
    return rule;                                                               \
  }

UNARY(NegOp, true)
UNARY(ExpOp, false)
UNARY_WITH_POLE(LogOp)
UNARY_WITH_POLE(SqrtOp)
UNARY_WITH_POLE(RsqrtOp)
UNARY(TanhOp, false)
UNARY(SigmoidOp, false)
UNARY(ErfOp, false)
UNARY(SiluOp, false)
UNARY(GeluOp, false)
UNARY(DropoutOp, true)

OpRule ConvertOp::getShardingRule() {
  // Rounding keeps sums only approximately: widening is the linear case, and
  // what is said to be meant.
  unsigned from = tensor(getX()).getElementType().getIntOrFloatBitWidth();
  unsigned to = tensor(getResult()).getElementType().getIntOrFloatBitWidth();
  if (isa<FloatType>(tensor(getX()).getElementType()) &&
      (to >= from || getRoundsParts()))
    return linearIn(*this, {{0}});
  return pointwise(*this);
}

LogicalResult ConvertOp::verify() {
  for (Value value : {Value(getX()), Value(getResult())})
    if (!tensor(value).getElementType().isIntOrFloat())
      return emitOpError("converts integers and floats, got ")
             << tensor(value).getElementType();
  if (getRoundsParts() && !(isa<FloatType>(elementOf(getX())) &&
                            isa<FloatType>(elementOf(getResult()))))
    return emitOpError("rounds_parts is for floats");
  if (!compatible(shape(getX()), shape(getResult())))
    return emitOpError("must keep the shape");
  return success();
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

#define INFER_BINARY(OP)                                                       \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *, std::optional<Location> loc, ValueRange operands,         \
      DictionaryAttr, OpaqueProperties, RegionRange,                           \
      SmallVectorImpl<Type> &inferred) {                                       \
    return inferBroadcast(loc, operands, tensor(operands[0]).getElementType(), \
                          inferred);                                           \
  }
#define BINARY(OP, ...)                                                        \
  INFER_BINARY(OP)                                                             \
  OpRule OP::getShardingRule() {                                               \
    return linearIn(                                                           \
        *this, std::initializer_list<SmallVector<unsigned, 2>> __VA_ARGS__);   \
  }

BINARY(AddOp, {{0, 1}})
BINARY(SubOp, {{0, 1}})
BINARY(MulOp, {{0}, {1}})
BINARY(MaximumOp, {})
BINARY(MinimumOp, {})
INFER_BINARY(DivOp)

OpRule DivOp::getShardingRule() {
  OpRule rule = linearIn(*this, {{0}});
  rule.poles = {1};
  return rule;
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &inferred) {
  return inferBroadcast(loc, operands, IntegerType::get(context, 1), inferred);
}
OpRule CompareOp::getShardingRule() { return pointwise(*this); }

static LogicalResult verifySameElement(Operation *op, Value lhs, Value rhs) {
  Type left = tensor(lhs).getElementType(),
       right = tensor(rhs).getElementType();
  if (left != right)
    return op->emitOpError("operands are ")
           << left << " and " << right << "; use stretto.convert";
  return success();
}

LogicalResult CompareOp::verify() {
  return verifySameElement(*this, getLhs(), getRhs());
}

LogicalResult SelectOp::verify() {
  if (!tensor(getCondition()).getElementType().isInteger(1))
    return emitOpError("the condition is ")
           << tensor(getCondition()).getElementType() << ", expected i1";
  return verifySameElement(*this, getOnTrue(), getOnFalse());
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         ValueRange operands, DictionaryAttr,
                                         OpaqueProperties, RegionRange,
                                         SmallVectorImpl<Type> &inferred) {
  return inferBroadcast(loc, operands, tensor(operands[1]).getElementType(),
                        inferred);
}
OpRule SelectOp::getShardingRule() { return linearIn(*this, {{1, 2}}); }

//===----------------------------------------------------------------------===//
// Dropout, mask_pad
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0.0 && p < 1.0))
    return emitOpError("probability ") << p << " is not in [0, 1)";
  size_t rank = shape(getX()).size();
  if (getExtents() && getExtents()->size() != rank)
    return emitOpError("expected ")
           << rank << " extents, got " << getExtents()->size();
  if (getSampleDim() && *getSampleDim() >= rank)
    return emitOpError("sample_dim ")
           << int64_t(*getSampleDim()) << " is outside rank " << rank;
  if (!getOffsets())
    return success();
  if (getOffsets()->size() != rank)
    return emitOpError("expected ")
           << rank << " offsets, got " << getOffsets()->size();
  if (!llvm::all_of(*getOffsets(), llvm::IsaPred<OffsetAttr>))
    return emitOpError("offsets must be #stretto.offset");
  return success();
}

/// One offset per dimension; the sample dimension also counts micro-batches.
void DropoutOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                   ArrayRef<DistAttr>, Operation *original) {
  auto source = cast<DropoutOp>(original);
  ArrayRef<int64_t> global = shape(source.getX());
  SmallVector<Attribute> offsets;
  for (unsigned dim = 0; dim < global.size(); ++dim) {
    bool samples = getSampleDim() && dim == *getSampleDim();
    offsets.push_back(OffsetAttr::ofShard(operands[0], dim, global[dim],
                                          samples ? global[dim] : 0));
  }
  setOffsetsAttr(ArrayAttr::get(getContext(), offsets));
}

LogicalResult MaskPadOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &inferred) {
  return inferLike(operands[0], inferred);
}

LogicalResult MaskPadOp::verify() {
  if (getDim() >= shape(getX()).size())
    return emitOpError("dimension ")
           << int64_t(getDim()) << " is outside rank " << shape(getX()).size();
  if (int64_t(getSize()) < 0)
    return emitOpError("logical size ") << int64_t(getSize()) << " is negative";
  return success();
}

OpRule MaskPadOp::getShardingRule() {
  return getValue().isZero() ? linearIn(*this, {{0}}) : pointwise(*this);
}

void MaskPadOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                   ArrayRef<DistAttr>, Operation *original) {
  auto source = cast<MaskPadOp>(original);
  setOffsetAttr(OffsetAttr::ofShard(operands[0], getDim(),
                                    shape(source.getX())[getDim()]));
}
