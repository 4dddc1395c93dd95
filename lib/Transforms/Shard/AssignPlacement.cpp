//===- AssignPlacement.cpp - axes of one operation's factors --------------===//
//
// What `propagate` decided, completed by where the operands lie already, and
// the partial sums that the operation lets through.
//
//===----------------------------------------------------------------------===//

#include "AssignBody.h"
#include "BodyPropagation.h"
#include "LegalPlacement.h"

#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A wish of low priority (between the blocks) is followed where a value
/// already lies so, or where a partial sum is about to be reduced over the
/// axis.
static bool worthTaking(Operation *op, const OpRule &rule, unsigned factor,
                        ArrayRef<AxisRef> axes) {
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    DistAttr dist = getDist(operand);
    if (!dist)
      continue;
    if (axesOverlap(dist.getPartialAxes(), axes))
      return true;
    if (auto dim = dimOfFactor(dims, factor);
        dim && axesOverlap(dist.getDimAxes(*dim), axes))
      return true;
  }
  return false;
}

unsigned BodyAssigner::ageOf(Value value) const {
  while (auto moved = value.getDefiningOp<ReshardOp>())
    value = moved.getX();
  auto it = ages.find(value);
  return it == ages.end() ? std::numeric_limits<unsigned>::max() : it->second;
}

/// Factors that nothing asked for keep the axes on which operands already lie,
/// as far as those are free. Minor parts of a compound follow only a part that
/// lies just as the operand does.
SmallVector<Candidate>
BodyAssigner::candidatesOfOperands(Operation *op, const OpRule &rule) const {
  SmallVector<Candidate> candidates;
  if (auto barrier = dyn_cast<PropagationBarrierOp>(op);
      barrier && barrier.getAllow() != PassDirection::Forward)
    return candidates;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    DistAttr dist = getDist(operand);
    for (unsigned dim = 0; dist && dim < dims.size(); ++dim) {
      auto split = splitDim(dist, dim, dims[dim], rule);
      if (failed(split) || dist.getDimAxes(dim).empty() ||
          !followsWishes(op, dim))
        continue;
      Candidate candidate;
      candidate.age = ageOf(operand);
      for (auto [factor, axes] : llvm::zip(dims[dim], *split)) {
        SmallVector<AxisRef> wanted = canonicalAxes(axes);
        bool uneven = isMinorPart(rule, factor) &&
                      paddedExtent(rule.factors[factor].size, wanted) != 0;
        bool blocked = rule.factors[factor].kind == FactorKind::Blocked;
        if (!wanted.empty() && (uneven || blocked))
          break;
        candidate.parts.emplace_back(factor, wanted);
      }
      if (!candidate.parts.empty())
        candidates.push_back(candidate);
    }
  }
  return candidates;
}

/// Padding as propagation wants it, else as the largest operand that lies on
/// these axes has it, else the least that divides.
static int64_t paddingOf(Operation *op, const OpRule &rule, unsigned factor,
                         ArrayRef<AxisRef> axes) {
  int64_t size = rule.factors[factor].size, least = paddedExtent(size, axes);
  if (axes.empty() || isMinorPart(rule, factor))
    return least;
  if (auto wanted = op->getAttrOfType<DenseI64ArrayAttr>(decided::padding))
    if (wanted[factor])
      return paddedExtent(size, axes, wanted[factor]);
  std::pair<int64_t, int64_t> best(-1, least); // elements, padding
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    DistAttr dist = getDist(operand);
    auto dim = dimOfFactor(dims, factor);
    if (dist && dim && dist.getDimAxes(*dim) == axes)
      best = std::max(best, {tensor(operand).getNumElements(),
                             dist.getPaddedExtents()[*dim]});
  }
  return best.second;
}

FailureOr<Placement> BodyAssigner::place(Operation *op, const OpRule &rule) {
  Surroundings around;
  for (Value operand : op->getOperands())
    around.operands.push_back(getDist(operand).getDims());
  around.results.resize(op->getNumResults());
  Settlement settlement(op, rule, cost, around);
  if (auto constrain = dyn_cast<ConstrainOp>(op)) {
    auto never = resolveNames(op->getLoc(), mesh,
                              constrain.getConstraint().getReplicatedAxes());
    if (failed(never))
      return failure();
    settlement.withhold(*never);
  }
  if (auto given = op->getAttrOfType<ConstraintAttr>(decided::factors))
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      auto axes = resolveAxes(op->getLoc(), mesh, given, factor);
      if (failed(axes))
        return failure();
      if (given.getPriorities()[factor] == 0 ||
          worthTaking(op, rule, factor, *axes))
        settlement.give(factor, *axes);
    }
  settlement.settle(candidatesOfOperands(op, rule));
  Placement placement(rule);
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    placement.axes[factor] = settlement.factorAxes()[factor];
  legalize(rule, placement);
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    placement.padded[factor] =
        paddingOf(op, rule, factor, placement.axes[factor]);
  return placement;
}
