//===- BodyPropagation.cpp - decisions inside one segment -----------------===//

#include "BodyPropagation.h"
#include "Padding.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

bool shard::followsWishes(Operation *op, unsigned dim) {
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    return constrain.getConstraint().getOpen()[dim];
  return true;
}

//===----------------------------------------------------------------------===//
// How values lie, as far as wishes tell
//===----------------------------------------------------------------------===//

/// The wishes of the dimensions of one value, each axis once, by priority.
DimAxes BodyPropagation::wishedDims(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  DimAxes dims(type.getRank());
  SmallVector<std::pair<const Wish *, unsigned>> asked;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (const Wish *wish = wishes.of(value, dim))
      asked.emplace_back(wish, dim);
  llvm::stable_sort(asked, [](const auto &a, const auto &b) {
    return a.first->priority < b.first->priority;
  });
  SmallVector<AxisRef> used;
  for (auto [wish, dim] : asked) {
    SmallVector<AxisRef> fitted = fitAxes(wish->axes, type.getDimSize(dim));
    if (axesOverlap(fitted, used))
      continue;
    dims[dim] = fitted;
    llvm::append_range(used, fitted);
  }
  return dims;
}

LogicalResult BodyPropagation::placeArguments() {
  for (BlockArgument argument : segment.getBody().front().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    auto constraint = segment.getArgAttrOfType<ConstraintAttr>(
        argument.getArgNumber(), attr::constraint);
    if (!constraint) {
      lies[argument] = wishedDims(argument);
      continue;
    }
    auto dist =
        distributionFor(segment.getLoc(), mesh, constraint, type.getShape());
    if (failed(dist))
      return failure();
    lies[argument] = dist->getDims();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

/// Wishes of the factors, split from those of (compound) dimensions.
void BodyPropagation::addCandidates(
    Value value, const DimFactors &dims, const OpRule &rule,
    function_ref<bool(unsigned)> asks,
    SmallVectorImpl<Candidate> &candidates) const {
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    const Wish *wish = asks(dim) ? wishes.of(value, dim) : nullptr;
    if (!wish)
      continue;
    SmallVector<int64_t> sizes;
    for (unsigned factor : factors)
      sizes.push_back(rule.factors[factor].size);
    auto split = splitWish(wish->axes, sizes);
    if (failed(split))
      continue;
    Candidate candidate{{},
                        wish->priority,
                        wish->cause,
                        wishes.dimClasses().nodeOf(value, dim)};
    for (auto [factor, axes] : llvm::zip(factors, *split)) {
      SmallVector<AxisRef> fitted = fitAxes(axes, rule.factors[factor].size);
      bool blocked = rule.factors[factor].kind == FactorKind::Blocked;
      bool uneven = isMinorPart(rule, factor) &&
                    paddedExtent(rule.factors[factor].size, fitted) != 0;
      if (!fitted.empty() && (blocked || uneven))
        break;
      candidate.parts.emplace_back(factor, fitted);
    }
    if (llvm::any_of(candidate.parts,
                     [](const auto &part) { return !part.second.empty(); }))
      candidates.push_back(candidate);
  }
}

/// Closed dimensions get exactly their axes; two of them cannot have the same.
LogicalResult BodyPropagation::addConstrained(ConstrainOp op,
                                              const OpRule &rule,
                                              Settlement &settlement) const {
  ConstraintAttr constraint = op.getConstraint();
  SmallVector<AxisRef> taken;
  for (unsigned dim = 0; dim < constraint.getRank(); ++dim) {
    auto axes = resolveAxes(op.getLoc(), mesh, constraint, dim);
    if (failed(axes))
      return failure();
    if (constraint.getOpen()[dim] || axes->empty())
      continue;
    if (axesOverlap(*axes, taken))
      return op.emitOpError("dimension ")
             << dim << " wants " << toString(mesh, *axes)
             << ", of which an earlier dimension takes a part (they take "
             << toString(mesh, taken)
             << "); a rank owns one shard: name every axis once";
    llvm::append_range(taken, *axes);
    settlement.give(rule.results[0][dim][0],
                    fitAxes(*axes, rule.factors[dim].size));
  }
  auto never = resolveNames(op.getLoc(), mesh, constraint.getReplicatedAxes());
  if (failed(never))
    return failure();
  settlement.withhold(*never);
  return success();
}

LogicalResult BodyPropagation::decideOperation(Operation *op) {
  auto ruled = dyn_cast<ShardingRule>(op);
  if (!ruled)
    return success();
  OpRule rule = ruled.getShardingRule();
  SmallVector<Candidate> candidates;
  bool asksOperands = !isa<PropagationBarrierOp>(op);
  Surroundings around;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    auto at = lies.find(operand);
    around.operands.push_back(at == lies.end() ? std::optional<DimAxes>()
                                               : at->second);
    addCandidates(
        operand, dims, rule,
        [&](unsigned dim) { return asksOperands && followsWishes(op, dim); },
        candidates);
  }
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results)) {
    around.results.push_back(wishedDims(result));
    addCandidates(
        result, dims, rule,
        [&](unsigned dim) { return followsWishes(op, dim); }, candidates);
  }
  Settlement settlement(op, rule, cost, around);
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    if (failed(addConstrained(constrain, rule, settlement)))
      return failure();
  settlement.settle(std::move(candidates));
  Placement placement(rule);
  placement.axes.assign(settlement.factorAxes().begin(),
                        settlement.factorAxes().end());
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    lies[result] = distributionOf(mesh, rule.results[i], placement).getDims();
  if (llvm::all_of(placement.axes, [](const auto &a) { return a.empty(); }))
    return success();
  std::string causes = settlement.causes();
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    if (StringRef own = constrain.getConstraint().getCause().getValue();
        !own.empty())
      causes += (causes.empty() ? "" : "; ") + own.str();
  decisions[op] = {placement.axes,
                   SmallVector<int64_t>(settlement.factorPriorities()), causes};
  return success();
}

LogicalResult BodyPropagation::decide() {
  if (failed(wishes.collect()) || failed(placeArguments()))
    return failure();
  for (Operation &op : segment.getBody().front())
    if (failed(decideOperation(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Writing decisions
//===----------------------------------------------------------------------===//

/// A compound dimension is padded by whole units of its first part: six heads
/// in three groups are eight on two ranks. What makes the compound and what
/// reads it should lie so as well, or it would be moved in between.
void BodyPropagation::writePadding() {
  DimClasses classes(segment); // names' classes: also through contractions
  llvm::DenseMap<unsigned, int64_t> wanted;
  auto request = [&](Value value, const DimFactors &dims, const OpRule &rule,
                     const Decision &decision) {
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      if (factors.size() < 2)
        continue;
      int64_t size = rule.factors[factors[0]].size;
      int64_t padded = paddedExtent(size, decision.axes[factors[0]]);
      for (unsigned factor : ArrayRef(factors).drop_front())
        padded *= rule.factors[factor].size;
      if (padded == 0)
        continue;
      int64_t &entry = wanted[classes.classOf(value, dim)];
      entry = std::max(entry, padded);
    }
  };
  for (auto &[op, decision] : decisions) {
    OpRule rule = cast<ShardingRule>(op).getShardingRule();
    for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
      request(operand, dims, rule, decision);
    for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
      request(result, dims, rule, decision);
  }
  if (wanted.empty())
    return;
  MLIRContext *context = segment.getContext();
  for (auto &[op, decision] : decisions) {
    OpRule rule = cast<ShardingRule>(op).getShardingRule();
    SmallVector<int64_t> extents(rule.factors.size(), 0);
    auto note = [&](Value value, const DimFactors &dims) {
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (factors.size() == 1)
          if (int64_t extent = wanted.lookup(classes.classOf(value, dim)))
            extents[factors[0]] = extent;
    };
    for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
      note(operand, dims);
    for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
      note(result, dims);
    if (llvm::any_of(extents, [](int64_t extent) { return extent != 0; }))
      op->setAttr(decided::padding, DenseI64ArrayAttr::get(context, extents));
  }
  for (BlockArgument argument : segment.getBody().front().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> extents;
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      extents.push_back(wanted.lookup(classes.classOf(argument, dim)));
    if (llvm::any_of(extents, [](int64_t extent) { return extent != 0; }))
      segment.setArgAttr(argument.getArgNumber(), decided::padding,
                         DenseI64ArrayAttr::get(context, extents));
  }
}

void BodyPropagation::writeResults() {
  Operation *yield = segment.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto at = lies.find(value);
    if (!type || at == lies.end() ||
        segment.getResultAttr(index, attr::constraint))
      continue;
    SmallVector<SmallVector<AxisRef>> dims(type.getRank());
    SmallVector<int64_t> priorities(type.getRank(), 0);
    SmallVector<StringRef> causes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (const Wish *wish = wishes.of(value, dim);
          wish && axesOverlap(at->second[dim], wish->axes)) {
        dims[dim] = wish->axes;
        priorities[dim] = wish->priority;
        causes.push_back(wish->cause);
      }
    if (llvm::any_of(dims, [](const auto &axes) { return !axes.empty(); }))
      segment.setResultAttr(
          index, attr::constraint,
          openUnasked(makeConstraint(mesh, dims, priorities,
                                     llvm::join(causes, "; "))));
  }
}

void BodyPropagation::write() {
  for (auto &[op, decision] : decisions)
    op->setAttr(decided::factors,
                makeConstraint(mesh, decision.axes, decision.priorities,
                               decision.causes));
  writePadding();
  writeResults();
}
