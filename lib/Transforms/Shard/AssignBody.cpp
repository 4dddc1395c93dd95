//===- AssignBody.cpp - distributions inside one segment ------------------===//

#include "AssignBody.h"
#include "BodyPropagation.h"
#include "LegalPlacement.h"
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
  for (auto [argument, dist] : llvm::zip(body.getArguments(), arguments)) {
    ages[argument] = ages.size();
    if (dist)
      argument.setType(withDist(tensor(argument), dist));
  }
  Operation *op = &body.front(); // what `enter` puts before it is done
  builder.setInsertionPointToStart(&body);
  for (BlockArgument argument : body.getArguments())
    if (failed(enter(argument)))
      return failure();
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

/// `has` with the dimensions that `constraint` closes as it says.
static FailureOr<DistAttr> closedDims(Location loc, MeshAttr mesh, DistAttr has,
                                      ConstraintAttr constraint,
                                      ArrayRef<int64_t> shape) {
  auto asked = distributionFor(loc, mesh, constraint, shape);
  auto never = resolveNames(loc, mesh, constraint.getReplicatedAxes());
  if (failed(asked) || failed(never))
    return failure();
  DimAxes dims = has.getDims();
  SmallVector<int64_t> padded(has.getPaddedExtents());
  SmallVector<AxisRef> taken = *never;
  auto isClosed = [&](unsigned dim) {
    return !constraint.getOpen()[dim] && constraint.getPriorities()[dim] == 0;
  };
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    if (!isClosed(dim))
      continue;
    if (ArrayRef<AxisRef>(dims[dim]) != asked->getDimAxes(dim)) {
      dims[dim].assign(asked->getDimAxes(dim).begin(),
                       asked->getDimAxes(dim).end());
      padded[dim] = asked->getPaddedExtents()[dim];
    }
    llvm::append_range(taken, dims[dim]);
  }
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (!isClosed(dim) && axesOverlap(dims[dim], taken)) {
      dims[dim].clear();
      padded[dim] = 0;
    }
  SmallVector<AxisRef> partial(has.getPartialAxes());
  if (axesOverlap(partial, taken))
    partial.clear();
  return DistAttr::get(mesh.getContext(), mesh, dims, partial,
                       has.getPartialKind(), padded);
}

/// An activation comes as its producer left it; where the plan closes a
/// dimension otherwise it is moved once, before its first use.
LogicalResult BodyAssigner::enter(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto role = segment.getArgAttrOfType<StringAttr>(index, attr::role);
  auto constraint =
      segment.getArgAttrOfType<ConstraintAttr>(index, attr::constraint);
  DistAttr has = getDist(argument);
  if (!has || !constraint || !role || role.getValue() != "activation")
    return success();
  auto wanted = closedDims(segment.getLoc(), mesh, has, constraint,
                           tensor(argument).getShape());
  if (failed(wanted))
    return failure();
  if (*wanted == has)
    return success();
  Value moved =
      reshard(argument, *wanted,
              "argument " + Twine(index) + " of " + segment.getSymName(),
              constraint.getCause().getValue());
  argument.replaceAllUsesExcept(moved, moved.getDefiningOp());
  return success();
}

LogicalResult BodyAssigner::visit(Operation *op) {
  builder.setInsertionPoint(op);
  auto ruled = dyn_cast<ShardingRule>(op);
  if (!ruled)
    return op->emitOpError(
        "has no sharding rule; it cannot be distributed; before assign, "
        "stretto.constrain says where a value lies");
  if (addWhereItRests(op) || takeFromOther(op))
    return success();
  for (Value open : op->getOperands())
    if (!getDist(open)) // an accumulator that is used otherwise
      open.setType(withDist(
          tensor(open), DistAttr::replicated(mesh, tensor(open).getRank())));
  OpRule rule = ruled.getShardingRule();
  FailureOr<Placement> placement = place(op, rule);
  if (failed(placement))
    return failure();
  Passing passing = passingPartial(op, rule, *placement);
  keepFree(*placement, passing.axes);
  legalize(rule, *placement);
  settleOperands(op, rule, *placement, passing);
  keepFinite(op, rule);
  maskOperands(op, rule, *placement);
  typeResults(op, rule, *placement, passing);
  op->removeAttr(decided::factors);
  op->removeAttr(decided::padding);
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
    op->removeAttr(decided::factors);
    op->removeAttr(decided::padding);
    return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// Operands to where the factors want them; terms of a sum stay terms (or
/// become some, in chains of scalars).
void BodyAssigner::settleOperands(Operation *op, const OpRule &rule,
                                  const Placement &placement,
                                  const Passing &passing) {
  StringRef consumer = op->getName().stripDialect(), causes;
  if (auto decided = op->getAttrOfType<ConstraintAttr>(decided::factors))
    causes = decided.getCause().getValue();
  for (auto [i, operand] : llvm::enumerate(op->getOpOperands())) {
    DistAttr target = distributionOf(mesh, rule.operands[i], placement);
    if (llvm::is_contained(passing.operands, unsigned(i)))
      target = withPartial(target, passing.axes, ReduceKind::Sum);
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
void BodyAssigner::keepFinite(Operation *op, const OpRule &rule) {
  for (unsigned pole : rule.poles) {
    OpOperand &operand = op->getOpOperand(pole);
    for (int64_t dim = 0; dim < tensor(operand.get()).getRank(); ++dim)
      if (getDist(operand.get()).getPaddedExtents()[dim] != 0)
        operand.set(maskPad(operand.get(), dim, 1.0));
  }
}

/// Do zeros along `factor` in the operands of `set` make what is summed over it
/// zero, in every result that sums?
static bool isNeutral(const OpRule &rule, const LinearSet &set,
                      unsigned factor) {
  bool all = llvm::all_of(set.operands, [&](unsigned operand) {
    return dimOfFactor(rule.operands[operand], factor).has_value();
  });
  for (unsigned result = 0; result < rule.results.size(); ++result)
    all &= set.reaches(result) || rule.resultHasFactor(result, factor);
  return all;
}

/// The operands whose padding along `factor` is made neutral: for sums those of
/// a set that the operation is linear in, as zeros elsewhere need not give
/// zeros.
static SmallVector<unsigned> operandsToMask(Operation *op, const OpRule &rule,
                                            unsigned factor) {
  for (const LinearSet &set : rule.linearSets)
    if (isNeutral(rule, set, factor))
      return SmallVector<unsigned>(ArrayRef(set.operands));
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    if (dimOfFactor(rule.operands[operand], factor))
      return {operand};
  return {};
}

/// A padded factor that is reduced needs neutral padding in some operand that
/// the operation is linear in (sums), or in its only operand (max, min, prod).
/// Past the end of a window there are zeros. Operations that know the extent
/// leave the padding out.
void BodyAssigner::maskOperands(Operation *op, const OpRule &rule,
                                const Placement &placement) {
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
    const Factor &info = rule.factors[factor];
    bool combines =
        info.kind == FactorKind::Reduction || info.kind == FactorKind::Window;
    if (!combines || info.trims || placement.padded[factor] == 0)
      continue;
    auto isZero = [&](unsigned operand) {
      return padding.isZero(op->getOperand(operand),
                            *dimOfFactor(rule.operands[operand], factor));
    };
    bool neutral = info.reduce == ReduceKind::Sum &&
                   llvm::any_of(rule.linearSets, [&](const LinearSet &set) {
                     return isNeutral(rule, set, factor) &&
                            llvm::all_of(set.operands, isZero);
                   });
    if (neutral)
      continue;
    for (unsigned masked : operandsToMask(op, rule, factor)) {
      OpOperand &operand = op->getOpOperand(masked);
      operand.set(maskPad(
          operand.get(), *dimOfFactor(rule.operands[masked], factor),
          neutralOf(info.reduce, tensor(operand.get()).getElementType())));
    }
  }
}

void BodyAssigner::typeResults(Operation *op, const OpRule &rule,
                               const Placement &placement,
                               const Passing &passing) {
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    DistAttr dist = distributionOf(mesh, rule.results[i], placement);
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> axes = reductionAxes(rule, i, placement, kind);
    if (passing.results.empty() ||
        llvm::is_contained(passing.results, unsigned(i)))
      llvm::append_range(axes, passing.axes);
    result.setType(withDist(tensor(result), withPartial(dist, axes, kind)));
    ages[result] = ages.size();
  }
}

/// Open dimensions of a result keep the axes that they have beyond what is
/// wanted, and sums that may stay partial do.
static LogicalResult keepOpen(Location loc, ConstraintAttr constraint,
                              DistAttr has, DistAttr &wanted) {
  MeshAttr mesh = has.getMesh();
  auto partial = resolveNames(loc, mesh, constraint.getPartialAxes());
  auto never = resolveNames(loc, mesh, constraint.getReplicatedAxes());
  if (failed(partial) || failed(never))
    return failure();
  DimAxes dims = wanted.getDims();
  SmallVector<int64_t> padded(wanted.getPaddedExtents());
  SmallVector<AxisRef> others = *never;
  llvm::append_range(others, wanted.getFlatAxes());
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    ArrayRef<AxisRef> lies = has.getDimAxes(dim);
    bool extends = lies.take_front(dims[dim].size()) == ArrayRef(dims[dim]);
    ArrayRef<AxisRef> more = lies.drop_front(extends ? dims[dim].size() : 0);
    if (!constraint.getOpen()[dim] || !extends || more.empty() ||
        axesOverlap(more, others))
      continue;
    dims[dim].assign(lies.begin(), lies.end());
    padded[dim] = has.getPaddedExtents()[dim];
    llvm::append_range(others, more);
  }
  SmallVector<AxisRef> sums;
  if (subtractAxes(has.getPartialAxes(), *partial).empty() &&
      !axesOverlap(has.getPartialAxes(), others))
    sums.assign(has.getPartialAxes().begin(), has.getPartialAxes().end());
  wanted = DistAttr::get(mesh.getContext(), mesh, dims, sums,
                         has.getPartialKind(), padded);
  return success();
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
    bool mayBePartial = llvm::is_contained({"accumulator", "term"}, roleName) ||
                        tensor(operand.get()).getRank() == 0;
    if (!wanted && has.isPartial() && !mayBePartial)
      wanted = has.withoutPartial();
    // State goes where its owner has it; else open dimensions keep their axes.
    bool isState = llvm::is_contained({"grad", "param", "moment"}, roleName);
    if (auto constraint =
            segment.getResultAttrOfType<ConstraintAttr>(i, attr::constraint);
        wanted && constraint && !mayBePartial && !isState)
      if (failed(keepOpen(segment.getLoc(), constraint, has, wanted)))
        return failure();
    if (wanted)
      operand.set(reshard(operand.get(), wanted,
                          "result " + Twine(i) + " (" + roleName + ") of " +
                              segment.getSymName()));
    if (llvm::is_contained({"cotangent", "accumulator", "term", "grad"},
                           roleName))
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
