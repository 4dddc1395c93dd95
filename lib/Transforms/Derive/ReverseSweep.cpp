//===- ReverseSweep.cpp - cotangents of one block -------------------------===//

#include "ReverseSweep.h"

using namespace mlir;
using namespace stretto;

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

ReverseSweep::ReverseSweep(OpBuilder &builder, ArrayRef<Operation *> operations,
                           ValueRange wanted)
    : builder(builder), operations(operations) {
  for (Value value : wanted)
    if (isFloat(value))
      active.insert(value);
  auto isActive = [&](Value value) { return active.contains(value); };
  for (Operation *op : operations)
    if (llvm::any_of(op->getOperands(), isActive))
      for (Value result : op->getResults())
        if (isFloat(result))
          active.insert(result);
}

void ReverseSweep::seed(Value value, Value cotangent) {
  if (!cotangent || !active.contains(value))
    return;
  Value &total = cotangents[value];
  total = total ? AddOp::create(builder, cotangent.getLoc(), total, cotangent)
                : cotangent;
}

LogicalResult ReverseSweep::sweep(Operation *op) {
  SmallVector<Value> results = llvm::map_to_vector(
      op->getResults(), [&](Value result) { return cotangentOf(result); });
  if (llvm::none_of(results, [](Value value) { return bool(value); }))
    return success();
  auto differentiable = dyn_cast<Differentiable>(op);
  if (!differentiable)
    return op->emitOpError("has no adjoint, and the loss depends on parameters "
                           "through it");
  SmallVector<Value> operands = differentiable.vjp(builder, results);
  if (operands.size() != op->getNumOperands())
    return failure();
  for (auto [operand, cotangent] : llvm::zip(op->getOperands(), operands))
    seed(operand, cotangent);
  return success();
}

LogicalResult ReverseSweep::run() {
  for (Operation *op : llvm::reverse(operations))
    if (failed(sweep(op)))
      return failure();
  return success();
}
