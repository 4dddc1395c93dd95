//===- PartialSums.cpp - how far a partial sum is carried -----------------===//
//
// Partial sums pass an operation that is linear in them where it costs nothing,
// or where reducing later, here or at the end of a chain of such operations,
// moves less than reducing now.
//
//===----------------------------------------------------------------------===//

#include "AssignBody.h"
#include "BodyPropagation.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

/// Operations that a sum is followed through.
static constexpr unsigned maxChain = 8;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Is every use of `value` one by `op`? Where another use needs the value too
/// one reduction of it serves both; passing it on would make two.
static bool usedOnlyBy(Value value, Operation *op) {
  return llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return user == op; });
}

/// An axis does one thing: what passes as a sum shards no factor. A factor
/// keeps the axes major to the first that passes; a padded one is whole, as its
/// padding was made for all of them.
void BodyAssigner::keepFree(Placement &placement, ArrayRef<AxisRef> passing) {
  for (auto [axes, padded] : llvm::zip(placement.axes, placement.padded)) {
    auto *taken = llvm::find_if(
        axes, [&](AxisRef axis) { return axesOverlap(axis, passing); });
    if (taken == axes.end())
      continue;
    axes.erase(padded ? axes.begin() : taken, axes.end());
    padded = 0;
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static double workOf(const OpRule &rule, const Placement &placement) {
  double work = 1;
  bool contracts = false;
  for (auto [factor, info] : llvm::enumerate(rule.factors)) {
    if (info.partner > int(factor))
      continue; // one of the two sides counts
    work *= double(info.size) / double(productOf(placement.axes[factor]));
    contracts |= info.kind == FactorKind::Reduction;
  }
  return work * (contracts ? 2 : 1);
}

/// Seconds of the operation and of the reductions of what it reads.
double BodyAssigner::secondsNow(Operation *op, const OpRule &rule,
                                const Placement &placement,
                                const Passing &passing) const {
  double seconds = cost.compute(workOf(rule, placement));
  for (unsigned operand : passing.operands) {
    DistAttr dist = distributionOf(mesh, rule.operands[operand], placement);
    SmallVector<AxisRef> flat(dist.getFlatAxes());
    seconds += cost.reduce(tensor(op->getOperand(operand)), dist.getDims(),
                           passing.axes, flat);
  }
  return seconds;
}

/// Seconds of the operation and of the reduction of what it makes, as far as
/// the sum adds to it.
double BodyAssigner::secondsLater(Operation *op, const OpRule &rule,
                                  Placement placement,
                                  const Passing &passing) const {
  keepFree(placement, passing.axes);
  double seconds = cost.compute(workOf(rule, placement));
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    if (!passing.results.empty() && !llvm::is_contained(passing.results, i))
      continue;
    DimAxes dims = distributionOf(mesh, rule.results[i], placement).getDims();
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> own = reductionAxes(rule, i, placement, kind);
    RankedTensorType type = tensor(op->getResult(i));
    seconds +=
        cost.reduceTogether(type, dims, uniteAxes(mesh, own, passing.axes)) -
        cost.reduceTogether(type, dims, own);
  }
  return seconds;
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Can a sum over `axes` come in by `operand` alone and go out, as far as one
/// knows before the operation is placed?
static bool carries(Operation *op, const OpRule &rule, unsigned operand,
                    MeshAttr mesh, ArrayRef<AxisRef> axes) {
  if (!llvm::any_of(rule.linearSets, [&](const LinearSet &set) {
        return ArrayRef(set.operands) == ArrayRef(operand);
      }))
    return false;
  for (auto [i, other] : llvm::enumerate(op->getOperands()))
    if (DistAttr dist = getDist(other);
        dist && i != operand &&
        (axesOverlap(dist.getFlatAxes(), axes) || dist.isPartial()))
      return false;
  auto given = op->getAttrOfType<ConstraintAttr>(decided::factors);
  for (unsigned factor = 0; given && factor < rule.factors.size(); ++factor) {
    auto wanted = resolveAxes(op->getLoc(), mesh, given, factor);
    if (failed(wanted) || axesOverlap(*wanted, axes))
      return false;
  }
  return !isa<ConstrainOp, PropagationBarrierOp, YieldOp>(op);
}

/// How `value`, a result of `op`, will lie, as far as `propagate` decided.
static DimAxes decidedDims(Operation *op, const OpRule &rule, unsigned result,
                           MeshAttr mesh) {
  Placement placement(rule);
  auto given = op->getAttrOfType<ConstraintAttr>(decided::factors);
  for (unsigned factor = 0; given && factor < rule.factors.size(); ++factor)
    if (auto axes = resolveAxes(op->getLoc(), mesh, given, factor);
        succeeded(axes))
      placement.axes[factor] = *axes;
  return distributionOf(mesh, rule.results[result], placement).getDims();
}

/// The least that reducing takes at some later point of the chain that begins
/// with `value`; none when it cannot be carried on.
std::optional<double> BodyAssigner::leastInChain(Value value,
                                                 ArrayRef<AxisRef> axes) const {
  std::optional<double> least;
  for (unsigned length = 0; length < maxChain && value.hasOneUse(); ++length) {
    OpOperand &use = *value.getUses().begin();
    Operation *op = use.getOwner();
    auto ruled = dyn_cast<ShardingRule>(op);
    if (!ruled || op->getNumResults() != 1)
      break;
    OpRule rule = ruled.getShardingRule();
    if (!carries(op, rule, use.getOperandNumber(), mesh, axes))
      break;
    value = op->getResult(0);
    double seconds = cost.reduceTogether(tensor(value),
                                         decidedDims(op, rule, 0, mesh), axes);
    least = std::min(least.value_or(seconds), seconds);
  }
  return least;
}

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

/// A chain of scalars: replicated operands become partial (zeros elsewhere), so
/// that the one reduction at its end serves all.
std::optional<Passing> BodyAssigner::passingScalars(Operation *op,
                                                    const OpRule &rule) const {
  SmallVector<AxisRef> all;
  SmallVector<unsigned> partial;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    DistAttr dist = getDist(operand);
    if (tensor(operand).getRank() != 0)
      return std::nullopt;
    if (!dist.isPartial())
      continue;
    if (dist.getPartialKind() != ReduceKind::Sum)
      return std::nullopt;
    all = uniteAxes(mesh, all, dist.getPartialAxes());
    partial.push_back(i);
  }
  for (const LinearSet &set : rule.linearSets)
    if (!all.empty() && set.operands.size() == op->getNumOperands())
      return Passing{all, SmallVector<unsigned>(ArrayRef(set.operands)),
                     SmallVector<unsigned>(ArrayRef(set.results))};
  return std::nullopt;
}

/// The sum that all operands of `set` are terms of and nobody else needs, if
/// the others leave its axes free.
std::optional<Passing> BodyAssigner::sumOf(Operation *op,
                                           const LinearSet &set) const {
  Passing passing;
  passing.results.assign(set.results.begin(), set.results.end());
  for (unsigned operand : set.operands) {
    Value value = op->getOperand(operand);
    DistAttr dist = getDist(value);
    bool isSum = dist.isPartial() && dist.getPartialKind() == ReduceKind::Sum;
    if (!isSum || !usedOnlyBy(value, op) ||
        (!passing.axes.empty() &&
         ArrayRef<AxisRef>(passing.axes) != dist.getPartialAxes()))
      return std::nullopt;
    passing.axes.assign(dist.getPartialAxes().begin(),
                        dist.getPartialAxes().end());
    passing.operands.push_back(operand);
  }
  // An operand outside the sum that is sharded over the axis has the say, and
  // the square of a sum needs it reduced.
  auto isTerm = [&](Value value) {
    return llvm::any_of(set.operands, [&](unsigned operand) {
      return op->getOperand(operand) == value;
    });
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!llvm::is_contained(set.operands, unsigned(i)) &&
        (isTerm(operand) ||
         axesOverlap(getDist(operand).getFlatAxes(), passing.axes)))
      return std::nullopt;
  return passing.operands.empty() ? std::nullopt : std::optional(passing);
}

/// What passing saves in seconds; none when it does not pay.
std::optional<double>
BodyAssigner::savedByPassing(Operation *op, const OpRule &rule,
                             const Placement &placement,
                             const Passing &passing) const {
  bool othersScalar = true;
  int64_t elements = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (llvm::is_contained(passing.operands, unsigned(i)))
      elements = std::max(elements, tensor(operand).getNumElements());
    else
      othersScalar &= tensor(operand).getRank() == 0;
  double now = secondsNow(op, rule, placement, passing);
  double later = secondsLater(op, rule, placement, passing);
  if (op->getNumResults() == 1)
    if (auto chain = leastInChain(op->getResult(0), passing.axes)) {
      Placement free = placement;
      keepFree(free, passing.axes);
      later = std::min(later, cost.compute(workOf(rule, free)) + *chain);
    }
  // What costs nothing is put off: something later may be smaller.
  bool isFree =
      othersScalar && (tensor(op->getResult(0)).getNumElements() <= elements ||
                       later <= now * (1 + 1e-9));
  if (!isFree && later >= now * (1 - 1e-9))
    return std::nullopt;
  return now - later;
}

Passing BodyAssigner::passingPartial(Operation *op, const OpRule &rule,
                                     const Placement &placement) {
  if (auto constrain = dyn_cast<ConstrainOp>(op)) {
    DistAttr dist = getDist(constrain.getX());
    auto wanted = resolveNames(op->getLoc(), mesh,
                               constrain.getConstraint().getPartialAxes());
    bool within = dist.isPartial() &&
                  dist.getPartialKind() == ReduceKind::Sum &&
                  succeeded(wanted) &&
                  subtractAxes(dist.getPartialAxes(), *wanted).empty();
    return within
               ? Passing{SmallVector<AxisRef>(dist.getPartialAxes()), {0}, {}}
               : Passing();
  }
  if (auto scalars = passingScalars(op, rule))
    return *scalars;
  Passing best;
  double most = 0;
  for (const LinearSet &set : rule.linearSets) {
    std::optional<Passing> passing = sumOf(op, set);
    if (!passing)
      continue;
    auto saved = savedByPassing(op, rule, placement, *passing);
    if (saved && (best.axes.empty() || *saved > most)) {
      best = *passing;
      most = *saved;
    }
  }
  return best;
}
