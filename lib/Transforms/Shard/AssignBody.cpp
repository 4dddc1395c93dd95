//===- AssignBody.cpp - distributions inside one segment ------------------===//

#include "AssignBody.h"
#include "Requests.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static DistAttr withPartial(DistAttr dist, ArrayRef<AxisRef> axes,
                            ReduceKind kind) {
  return DistAttr::get(dist.getContext(), dist.getMesh(), dist.getDims(), axes,
                       kind, dist.getPaddedExtents());
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

LogicalResult BodyAssigner::run(ArrayRef<DistAttr> arguments,
                                ArrayRef<DistAttr> results) {
  Block &body = segment.getBody().front();
  for (auto [argument, dist] : llvm::zip(body.getArguments(), arguments))
    if (dist)
      argument.setType(withDist(tensor(argument), dist));
  Operation *op = &body.front();
  while (op) {
    if (auto yield = dyn_cast<YieldOp>(op)) {
      if (failed(visitYield(yield, results)))
        return failure();
      break;
    }
    // Decomposition puts new operations before `op`: go on with the first.
    Operation *before = op->getPrevNode();
    if (auto ruled = dyn_cast<ShardingRule>(op);
        ruled && decompose(op, ruled.getShardingRule())) {
      op = before ? before->getNextNode() : &body.front();
      continue;
    }
    Operation *next = op->getNextNode();
    if (failed(visit(op)))
      return failure();
    op = next;
  }
  for (Operation &unused :
       llvm::make_early_inc_range(llvm::reverse(body.getOperations())))
    if (isOpTriviallyDead(&unused))
      unused.erase();
  for (BlockArgument argument : body.getArguments())
    if (!getDist(argument))
      argument.setType(
          withDist(tensor(argument),
                   DistAttr::replicated(mesh, tensor(argument).getRank())));
  segment.setFunctionType(
      FunctionType::get(segment.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
  return success();
}

LogicalResult BodyAssigner::visit(Operation *op) {
  builder.setInsertionPoint(op);
  auto ruled = dyn_cast<ShardingRule>(op);
  if (!ruled)
    return op->emitOpError("has no sharding rule; it cannot be distributed");
  if (takeFromOther(op))
    return success();
  OpRule rule = ruled.getShardingRule();
  FailureOr<Placement> placement = place(op, rule);
  if (failed(placement))
    return failure();
  SmallVector<AxisRef> passing = passingPartial(op, rule);
  // The axis does one thing: what passes as a sum shards no factor here.
  for (auto [axes, padded] : llvm::zip(placement->axes, placement->padded))
    if (axesOverlap(axes, passing)) {
      axes.clear();
      padded = 0;
    }
  settleOperands(op, rule, *placement, passing);
  keepFinite(op);
  maskOperands(op, rule, *placement);
  typeResults(op, rule, *placement, passing);
  op->removeAttr("stretto.factors");
  if (isa<ConstrainOp, PropagationBarrierOp, ShardAlikeOp>(op)) {
    // Obeyed: from here on the operands are the values.
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  }
  return success();
}

/// add(accumulator, raw): the accumulator lies as the raw gradient does.
bool BodyAssigner::takeFromOther(Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return false;
  for (unsigned i : {0u, 1u}) {
    Value open = op->getOperand(i), other = op->getOperand(1 - i);
    if (getDist(open) || !getDist(other) || !isa<BlockArgument>(open))
      continue;
    open.setType(withDist(tensor(open), getDist(other)));
    op->getResult(0).setType(
        withDist(tensor(op->getResult(0)), getDist(other)));
    op->removeAttr("stretto.factors");
    return true;
  }
  return false;
}

/// A blocked factor that an operand has sharded: the decomposed form shows the
/// inner collectives.
bool BodyAssigner::decompose(Operation *op, const OpRule &rule) {
  auto decomposable = dyn_cast<Decomposable>(op);
  if (!decomposable)
    return false;
  bool sharded = false;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    DistAttr dist = getDist(operand);
    for (auto [dim, factors] : llvm::enumerate(dims))
      for (unsigned factor : factors)
        sharded |= dist && rule.factors[factor].kind == FactorKind::Blocked &&
                   !dist.getDimAxes(dim).empty();
  }
  if (!sharded)
    return false;
  builder.setInsertionPoint(op);
  // Decomposition infers types from bare operands.
  SmallVector<std::pair<Value, Type>> kept;
  for (Value operand : op->getOperands()) {
    kept.emplace_back(operand, operand.getType());
    operand.setType(bareType(operand.getType()));
  }
  SmallVector<DistAttr> dists = llvm::map_to_vector(
      kept, [](const auto &entry) { return getDist(entry.second); });
  SmallVector<Value> values = decomposable.decomposeSharded(builder, dists);
  for (auto [value, type] : llvm::reverse(kept))
    value.setType(type);
  if (values.empty())
    return false;
  op->replaceAllUsesWith(values);
  op->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

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

/// Both dimensions of a window lie on the same axes: those of the one that has
/// some, of the first where they disagree.
static void shareWindowAxes(const OpRule &rule, Placement &placement) {
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Window || factor.partner < int(index))
      continue;
    auto &first = placement.axes[index],
         &second = placement.axes[factor.partner];
    (first.empty() ? first : second) = first.empty() ? second : first;
  }
}

FailureOr<Placement> BodyAssigner::place(Operation *op, const OpRule &rule) {
  Placement placement(rule);
  if (auto decided = op->getAttrOfType<ConstraintAttr>("stretto.factors"))
    for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
      auto axes = resolveAxes(op->getLoc(), mesh, decided, factor);
      if (failed(axes))
        return failure();
      if (decided.getPriorities()[factor] == 0 ||
          worthTaking(op, rule, factor, *axes))
        placement.axes[factor] = *axes;
    }
  fillFromOperands(op, rule, placement);
  shareWindowAxes(rule, placement);
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    placement.padded[factor] =
        paddedExtent(rule.factors[factor].size, placement.axes[factor]);
  return placement;
}

/// Factors that nothing asked for keep the axes on which operands already lie,
/// as far as those are free.
void BodyAssigner::fillFromOperands(Operation *op, const OpRule &rule,
                                    Placement &placement) {
  SmallVector<AxisRef> used;
  for (const auto &axes : placement.axes)
    llvm::append_range(used, axes);
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    DistAttr dist = getDist(operand);
    for (unsigned dim = 0; dist && dim < dims.size(); ++dim) {
      auto split = splitDim(dist, dim, dims[dim], rule);
      if (failed(split))
        continue;
      for (auto [factor, axes] : llvm::zip(dims[dim], *split)) {
        bool isFree = rule.factors[factor].kind != FactorKind::Blocked &&
                      placement.axes[factor].empty() &&
                      !axesOverlap(axes, used);
        isFree &= !isMinorPart(rule, factor) ||
                  paddedExtent(rule.factors[factor].size, axes) == 0;
        if (isFree && !axes.empty()) {
          placement.axes[factor] = canonicalAxes(axes);
          llvm::append_range(used, axes);
        }
        // Minor parts follow only a part that lies just as the operand does.
        if (placement.axes[factor] != canonicalAxes(axes))
          break;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

/// Axes over which operands stay partial through `op`. They pass where the rule
/// is linear in all its tensor operands together (or the rest are scalars), the
/// result is no bigger than the operand. For rank-0
/// sums a replicated operand becomes partial instead of the partial one being
/// reduced: the one reduction at the end of the chain serves all.
SmallVector<AxisRef> BodyAssigner::passingPartial(Operation *op,
                                                  const OpRule &rule) {
  SmallVector<AxisRef> all;
  bool scalars = true, mixed = false;
  int64_t bytes = 0;
  SmallVector<unsigned> partial;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    DistAttr dist = getDist(operand);
    scalars &= tensor(operand).getRank() == 0;
    if (!dist.isPartial())
      continue;
    if (dist.getPartialKind() != ReduceKind::Sum)
      return {};
    if (!all.empty() && ArrayRef<AxisRef>(all) != dist.getPartialAxes())
      mixed = true;
    all = uniteAxes(mesh, all, dist.getPartialAxes());
    partial.push_back(i);
    bytes = std::max(bytes, tensor(operand).getNumElements());
  }
  if (all.empty())
    return {};
  // An operand outside the sum that is sharded over the axis has the say.
  for (Value operand : op->getOperands())
    if (!getDist(operand).isPartial() &&
        axesOverlap(getDist(operand).getFlatAxes(), all))
      return {};
  for (const LinearSet &set : rule.linearSets) {
    bool together = llvm::all_of(set.operands, [&](unsigned operand) {
      return llvm::is_contained(partial, operand);
    });
    bool within = llvm::all_of(partial, [&](unsigned operand) {
      return llvm::is_contained(set.operands, operand);
    });
    if (!within)
      continue;
    if (scalars && set.operands.size() == op->getNumOperands())
      return all;
    bool othersScalar =
        llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto entry) {
          return llvm::is_contained(set.operands, unsigned(entry.index())) ||
                 tensor(entry.value()).getRank() == 0;
        });
    if (together && !mixed && othersScalar &&
        tensor(op->getResult(0)).getNumElements() <= bytes)
      return all;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// Scalar chains of partial sums: every operand of the linear set is partial.
void BodyAssigner::settleOperands(Operation *op, const OpRule &rule,
                                  const Placement &placement,
                                  ArrayRef<AxisRef> passing) {
  SmallVector<unsigned> passers;
  if (!passing.empty())
    for (const LinearSet &set : rule.linearSets) {
      bool hasPartial = llvm::any_of(set.operands, [&](unsigned operand) {
        return getDist(op->getOperand(operand)).isPartial();
      });
      if (hasPartial)
        passers.assign(set.operands.begin(), set.operands.end());
    }
  StringRef consumer = op->getName().stripDialect(), causes;
  if (auto decided = op->getAttrOfType<ConstraintAttr>("stretto.factors"))
    causes = decided.getCause().getValue();
  for (auto [i, operand] : llvm::enumerate(op->getOpOperands())) {
    DistAttr target = distributionOf(mesh, rule.operands[i], placement);
    if (llvm::is_contained(passers, unsigned(i)))
      target = withPartial(target, passing, ReduceKind::Sum);
    operand.set(reshard(operand.get(), target, consumer, causes));
  }
}

/// What a reduction of elements of `type` does not notice.
static double neutralOf(ReduceKind kind, Type type) {
  if (isa<IntegerType>(type) && kind != ReduceKind::Sum) {
    bool bit = type.isInteger(1);
    bool low = kind == ReduceKind::Max || kind == ReduceKind::Or;
    using Limits = std::numeric_limits<int32_t>;
    if (kind == ReduceKind::Prod || (bit && !low))
      return 1.0;
    return bit ? 0.0 : double(low ? Limits::min() : Limits::max());
  }
  switch (kind) {
  case ReduceKind::Sum:
    return 0.0;
  case ReduceKind::Or:
    return 0.0;
  case ReduceKind::And:
  case ReduceKind::Prod:
    return 1.0;
  case ReduceKind::Max:
    return -std::numeric_limits<double>::infinity();
  case ReduceKind::Min:
    return std::numeric_limits<double>::infinity();
  }
  return 0.0;
}

/// Padding may be anything finite: zero times it must stay zero in a later sum.
/// What is not finite at zero reads ones there.
void BodyAssigner::keepFinite(Operation *op) {
  if (!isa<DivOp, LogOp, SqrtOp, RsqrtOp>(op))
    return;
  OpOperand &operand = op->getOpOperand(op->getNumOperands() - 1);
  for (int64_t dim = 0; dim < tensor(operand.get()).getRank(); ++dim)
    if (getDist(operand.get()).getPaddedExtents()[dim] != 0)
      operand.set(maskPad(operand.get(), dim, 1.0));
}

/// The operand whose padding along `factor` is made neutral: for sums one that
/// the operation is linear in, as zeros elsewhere need not give zeros.
static std::optional<unsigned> operandToMask(Operation *op, const OpRule &rule,
                                             unsigned factor) {
  auto has = [&](unsigned operand) {
    return dimOfFactor(rule.operands[operand], factor).has_value();
  };
  for (const LinearSet &set : rule.linearSets)
    for (unsigned operand : set.operands)
      if (has(operand))
        return operand;
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    if (has(operand))
      return operand;
  return std::nullopt;
}

/// A padded factor that is reduced needs neutral padding in some operand that
/// the operation is linear in (sums), or in its only operand (max, min, prod).
/// Past the end of a window there are zeros.
void BodyAssigner::maskOperands(Operation *op, const OpRule &rule,
                                const Placement &placement) {
  for (auto [factor, info] : llvm::enumerate(rule.factors)) {
    bool combines =
        info.kind == FactorKind::Reduction || info.kind == FactorKind::Window;
    if (!combines || placement.padded[factor] == 0)
      continue;
    bool neutral = false;
    if (info.reduce == ReduceKind::Sum)
      for (const LinearSet &set : rule.linearSets)
        for (unsigned operand : set.operands)
          if (auto dim = dimOfFactor(rule.operands[operand], factor))
            neutral |= padding.isZero(op->getOperand(operand), *dim);
    if (neutral)
      continue;
    if (std::optional<unsigned> masked = operandToMask(op, rule, factor)) {
      OpOperand &operand = op->getOpOperand(*masked);
      operand.set(maskPad(
          operand.get(), *dimOfFactor(rule.operands[*masked], factor),
          neutralOf(info.reduce, tensor(operand.get()).getElementType())));
    }
  }
}

void BodyAssigner::typeResults(Operation *op, const OpRule &rule,
                               const Placement &placement,
                               ArrayRef<AxisRef> passing) {
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    DistAttr dist = distributionOf(mesh, rule.results[i], placement);
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> axes = reductionAxes(rule, i, placement, kind);
    llvm::append_range(axes, passing);
    result.setType(withDist(tensor(result), withPartial(dist, axes, kind)));
  }
}

LogicalResult BodyAssigner::visitYield(YieldOp yield,
                                       ArrayRef<DistAttr> results) {
  builder.setInsertionPoint(yield);
  for (auto [i, operand] : llvm::enumerate(yield->getOpOperands())) {
    auto role = segment.getResultAttrOfType<StringAttr>(i, attr::role);
    StringRef roleName = role ? role.getValue() : "";
    DistAttr wanted = results[i];
    DistAttr has = getDist(operand.get());
    if (!has)
      return segment.emitOpError("result ") << i << " has no distribution";
    bool mayBePartial =
        roleName == "accumulator" || tensor(operand.get()).getRank() == 0;
    if (!wanted && has.isPartial() && !mayBePartial)
      wanted = has.withoutPartial();
    if (wanted)
      operand.set(reshard(operand.get(), wanted,
                          "result " + Twine(i) + " (" + roleName + ") of " +
                              segment.getSymName()));
    if (llvm::is_contained({"cotangent", "accumulator", "grad"}, roleName))
      operand.set(zeroPadding(operand.get()));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Inserted operations
//===----------------------------------------------------------------------===//

/// Constants, iotas and broadcasts are made where they are needed instead of
/// being moved.
static Value rematerialize(OpBuilder &builder, Value value, DistAttr target,
                           function_ref<Value(Value, DistAttr)> reshard) {
  Operation *op = value.getDefiningOp();
  if (!op || target.isPartial())
    return {};
  if (isa<ConstantOp>(op)) {
    Operation *copy = builder.clone(*op);
    copy->getResult(0).setType(withDist(tensor(value), target));
    return copy->getResult(0);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<SmallVector<AxisRef>> dims;
    SmallVector<int64_t> padded;
    for (int64_t dim : broadcast.getDims()) {
      dims.emplace_back(target.getDimAxes(dim));
      padded.push_back(target.getPaddedExtents()[dim]);
    }
    Value source = reshard(broadcast.getX(),
                           DistAttr::get(target.getContext(), target.getMesh(),
                                         dims, {}, ReduceKind::Sum, padded));
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, source);
    copy->getResult(0).setType(withDist(tensor(value), target));
    return copy->getResult(0);
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    // Only the shape of `like` matters: go back to what was not moved yet.
    Value like = iota.getLike();
    while (auto moved = like.getDefiningOp<ReshardOp>())
      like = moved.getX();
    like = reshard(like, target);
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, like);
    copy->getResult(0).setType(withDist(tensor(value), target));
    return copy->getResult(0);
  }
  return {};
}

Value BodyAssigner::reshard(Value value, DistAttr target, const Twine &consumer,
                            StringRef planCauses) {
  if (getDist(value) == target)
    return value;
  Value &known = resharded[{value, target}];
  if (known)
    return known;
  Value made =
      rematerialize(builder, value, target, [&](Value like, DistAttr dist) {
        return reshard(like, dist, consumer, planCauses);
      });
  if (!made)
    made = ReshardOp::create(builder, value.getLoc(),
                             withDist(tensor(value), target), value,
                             builder.getStringAttr(reasons.describe(
                                 value, target, consumer, planCauses)));
  // `known` may dangle: rematerialising can have grown the map.
  resharded[{value, target}] = made;
  return made;
}

Value BodyAssigner::maskPad(Value value, unsigned dim, double neutral) {
  return MaskPadOp::create(
      builder, value.getLoc(), value.getType(), value,
      builder.getI64IntegerAttr(dim),
      builder.getI64IntegerAttr(tensor(value).getDimSize(dim)),
      builder.getF64FloatAttr(neutral), OffsetAttr());
}

Value BodyAssigner::zeroPadding(Value value) {
  for (int64_t dim = 0; dim < tensor(value).getRank(); ++dim)
    if (!padding.isZero(value, dim))
      value = maskPad(value, dim, 0.0);
  return value;
}
