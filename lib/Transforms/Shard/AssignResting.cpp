//===- AssignResting.cpp - state that rests apart from where it is used ---===//
//
// The addition to a sum that rests sharded is made where it rests; where the
// term was made has no say in it.
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

/// The accumulator that `value` is, if it rests apart from where the segment
/// works.
static BlockArgument restingSum(SegmentOp segment, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !segment.getArgAttr(argument.getArgNumber(), attr::rest))
    return {};
  auto role =
      segment.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr::role);
  return role && role.getValue() == "accumulator" ? argument : BlockArgument();
}

/// add(accumulator, raw) of an accumulator that rests apart: the sum is made
/// there, whatever the raw gradient was made on.
bool BodyAssigner::addWhereItRests(Operation *op) {
  if (!isa<AddOp>(op))
    return false;
  for (unsigned i : {0u, 1u}) {
    BlockArgument sum = restingSum(segment, op->getOperand(i));
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
