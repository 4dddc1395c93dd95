//===- StepFlow.cpp - values across the segments of a step ----------------===//

#include "StepFlow.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

bool driver::isExchange(Operation *op) {
  return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         op->hasAttrOfType<GroupAttr>("group");
}

StepFlow::StepFlow(StepOp step) : symbols(step->getParentOfType<ModuleOp>()) {
  step.walk([&](InvokeOp invoke) {
    auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    if (!segment)
      return;
    auto [entry, isNew] = calls.try_emplace(segment);
    if (isNew)
      order.push_back(segment);
    entry->second.push_back(invoke);
  });
}

ArrayRef<InvokeOp> StepFlow::callsOf(SegmentOp segment) const {
  auto entry = calls.find(segment);
  return entry == calls.end() ? ArrayRef<InvokeOp>() : entry->second;
}

static Value yielded(Block &block, unsigned index) {
  return block.getTerminator()->getOperand(index);
}

SmallVector<Value> StepFlow::sources(Value value) const {
  if (auto result = dyn_cast<OpResult>(value)) {
    if (auto loop = dyn_cast<MicrobatchesOp>(result.getOwner()))
      return {yielded(loop.getBody().front(), result.getResultNumber())};
    if (auto invoke = dyn_cast<InvokeOp>(result.getOwner()))
      if (auto segment = symbols.lookup<SegmentOp>(invoke.getCallee()))
        return {yielded(segment.getBody().front(), result.getResultNumber())};
    return {};
  }
  auto argument = cast<BlockArgument>(value);
  unsigned index = argument.getArgNumber();
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<MicrobatchesOp>(owner)) {
    unsigned inputs = loop.getInputs().size();
    if (index < inputs)
      return {loop.getInputs()[index]};
    return {loop.getCarried()[index - inputs],
            yielded(loop.getBody().front(), index - inputs)};
  }
  // Instances are alike: one call speaks for all.
  auto entry = calls.find(owner);
  if (entry == calls.end())
    return {};
  return {entry->second.front()->getOperand(index)};
}

static bool isPartialOver(Value value, AxisRef axis) {
  DistAttr dist = getDist(value);
  return dist && axesOverlap(dist.getPartialAxes(), axis);
}

void StepFlow::collectOrigins(Value value, AxisRef axis, Operations &found,
                              llvm::DenseSet<Value> &seen) const {
  if (!isPartialOver(value, axis) || !seen.insert(value).second)
    return;
  SmallVector<Value> before = sources(value);
  Operation *op = value.getDefiningOp();
  if (before.empty() && op)
    before.assign(op->operand_begin(), op->operand_end());
  bool passes = false;
  for (Value source : before) {
    passes |= isPartialOver(source, axis);
    collectOrigins(source, axis, found, seen);
  }
  // An accumulator begins as zeros, whose terms nobody made.
  if (!passes && op && !before.empty())
    found.insert(op);
}

Operations StepFlow::partialOrigins(Value value, AxisRef axis) const {
  Operations found;
  llvm::DenseSet<Value> seen;
  collectOrigins(value, axis, found, seen);
  return found;
}

/// Forward saves it for backward.
static bool isSaving(OpOperand &use) {
  auto segment = dyn_cast<SegmentOp>(use.getOwner()->getParentOp());
  if (!segment || !isa<YieldOp>(use.getOwner()))
    return false;
  auto role = segment.getResultAttrOfType<StringAttr>(use.getOperandNumber(),
                                                      attr::role);
  return role && role.getValue() == "saved";
}

static void collectConsumers(Value value, Operations &found,
                             Operations &saving) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isExchange(user))
      collectConsumers(user->getResult(0), found, saving);
    else
      (isSaving(use) ? saving : found).insert(user);
  }
}

Operations StepFlow::consumers(Value value) {
  Operations found, saving;
  collectConsumers(value, found, saving);
  return found.empty() ? saving : found;
}
