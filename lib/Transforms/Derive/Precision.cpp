//===- Precision.cpp - the types that a step computes in ------------------===//

#include "Precision.h"

using namespace mlir;
using namespace stretto;

Type stretto::elementOf(Type tensor) {
  return cast<RankedTensorType>(tensor).getElementType();
}

bool stretto::isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

RankedTensorType stretto::withElement(Type tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor);
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

Value stretto::convertTo(OpBuilder &b, Value value, Type element,
                         bool roundsParts) {
  if (elementOf(value) == element)
    return value;
  return ConvertOp::create(b, value.getLoc(),
                           withElement(value.getType(), element), value,
                           roundsParts);
}

static Type toType(MLIRContext *context, FloatKind kind) {
  switch (kind) {
  case FloatKind::F32:
    return Float32Type::get(context);
  case FloatKind::BF16:
    return BFloat16Type::get(context);
  case FloatKind::F16:
    return Float16Type::get(context);
  case FloatKind::F64:
    return Float64Type::get(context);
  }
  llvm_unreachable("all kinds are handled");
}

Precision::Precision(MLIRContext *context, const Recipe::Precision &recipe)
    : rest(toType(context, recipe.params)),
      compute(toType(context, recipe.compute)),
      gradients(toType(context, recipe.gradients)),
      reduce(toType(context, recipe.reduce)) {}

Type Precision::instead(Type tensor, Type element) const {
  Type own = elementOf(tensor);
  return own == rest || own == compute ? withElement(tensor, element) : tensor;
}

Value Precision::reduceAt(OpBuilder &b, Value parts,
                          ConstraintAttr constraint) const {
  if (reduce == gradients)
    return parts;
  Value sum = convertTo(b, parts, reduce, /*roundsParts=*/true);
  sum = ConstrainOp::create(b, parts.getLoc(), sum, constraint);
  return convertTo(b, sum, gradients);
}

//===----------------------------------------------------------------------===//
// Sums in the wide type
//===----------------------------------------------------------------------===//

Value Widener::widen(Value value) {
  if (elementOf(value) != narrow)
    return value;
  if (Value known = done.lookup(value))
    return known;
  Value made = make(value);
  done[value] = made;
  return made;
}

/// Is the operation's work so small that it may be done in the wide type?
static bool isCheap(Operation *op) {
  auto cost = dyn_cast<CostModel>(op);
  return !cost || cost.getModelFlops(/*causal=*/false) == 0;
}

/// Are all floats at the operation's border of type `element`?
static bool isUniform(Operation *op, Type element) {
  auto agrees = [&](Value value) {
    return !isFloatTensor(value) || elementOf(value) == element;
  };
  return llvm::all_of(op->getOperands(), agrees) &&
         llvm::all_of(op->getResults(), agrees);
}

Value Widener::make(Value value) {
  Operation *op = value.getDefiningOp();
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  if (!op)
    return convertTo(b, value, wide);
  if (auto convert = dyn_cast<ConvertOp>(op);
      convert && isFloatTensor(convert.getX()))
    return convertTo(b, convert.getX(), wide);
  if (op->hasTrait<WideSums>())
    return widenSum(value);
  bool alone = value.use_empty() || value.hasOneUse();
  bool isGiven = op->getNumOperands() == 0; // a constant
  if (op->getNumResults() == 1 && isUniform(op, narrow) && isCheap(op) &&
      (alone || shared || isGiven))
    return widenOperands(op);
  return convertTo(b, value, wide);
}

/// The sum itself becomes wide; others read it rounded, as before.
Value Widener::widenSum(Value value) {
  Type before = value.getType();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  value.setType(withElement(before, wide));
  if (uses.empty())
    return value;
  OpBuilder b(value.getContext());
  b.setInsertionPointAfterValue(value);
  Value rounded = convertTo(b, value, narrow);
  for (OpOperand *use : uses)
    use->set(rounded);
  return value;
}

/// The same operation on wide operands, behind it. Others read it rounded.
Value Widener::widenOperands(Operation *op) {
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) -> Value {
        return isFloatTensor(operand) ? widen(operand) : operand;
      });
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Operation *clone = b.clone(*op);
  clone->setOperands(operands);
  Value result = clone->getResult(0);
  result.setType(withElement(result.getType(), wide));
  if (shared && op->getNumOperands() != 0)
    op->getResult(0).replaceAllUsesWith(convertTo(b, result, narrow));
  return result;
}
