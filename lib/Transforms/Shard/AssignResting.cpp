//===- AssignResting.cpp - state that rests apart from where it is used ---===//
//
// Parameters come and gradients go at the border between where they rest and
// where a segment works: nothing inside is sharded because they are.
//
//===----------------------------------------------------------------------===//

#include "AssignBody.h"
#include "Requests.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The argument that `value` is, if it rests apart from where the segment works
/// on it and has this role.
static BlockArgument restingArgument(SegmentOp segment, Value value,
                                     StringRef role) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !segment.getArgAttr(argument.getArgNumber(), attr::rest))
    return {};
  auto has =
      segment.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::role);
  return has && has.getValue() == role ? argument : BlockArgument();
}

/// A parameter that rests sharded is made as the layer uses it just before its
/// first use: how it rests has no say in where the layer works.
LogicalResult BodyAssigner::gatherParameters(Operation *op) {
  for (Value operand : op->getOperands()) {
    BlockArgument argument = restingArgument(segment, operand, "param");
    if (!argument || !getDist(argument) || !gathered.insert(argument).second)
      continue;
    unsigned index = argument.getArgNumber();
    auto use =
        segment.getArgAttrOfType<ConstraintAttr>(index, attr::constraint);
    auto padding =
        segment.getArgAttrOfType<DenseI64ArrayAttr>(index, decided::padding);
    auto wanted = distributionFor(
        segment.getLoc(), mesh, use, tensor(argument).getShape(),
        padding ? padding.asArrayRef() : ArrayRef<int64_t>());
    if (failed(wanted))
      return failure();
    if (*wanted == getDist(argument))
      continue;
    builder.setInsertionPoint(op);
    Value whole =
        reshard(argument, *wanted, "the layer",
                segment.getArgAttrOfType<ConstraintAttr>(index, attr::rest)
                    .getCause()
                    .getValue());
    argument.replaceAllUsesExcept(whole, whole.getDefiningOp());
  }
  return success();
}

/// add(accumulator, raw) of an accumulator that rests apart: the sum is made
/// there, whatever the raw gradient was made on.
bool BodyAssigner::addWhereItRests(Operation *op) {
  if (!isa<AddOp>(op))
    return false;
  for (unsigned i : {0u, 1u}) {
    BlockArgument sum =
        restingArgument(segment, op->getOperand(i), "accumulator");
    if (!sum || !getDist(sum))
      continue;
    Value raw = op->getOperand(1 - i), result = op->getResult(0);
    op->setOperand(1 - i, reshard(raw, getDist(sum), "the accumulator"));
    result.setType(withDist(tensor(result), getDist(sum)));
    ages[result] = ages.size();
    op->removeAttr(decided::factors);
    op->removeAttr(decided::padding);
    return true;
  }
  return false;
}
