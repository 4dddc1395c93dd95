//===- AssignDecompose.cpp - fused operations on shards of inner dimensions
//===//
//
// Which operations become compositions, judged by how their operands lie and
// by what propagation decided.
//
//===----------------------------------------------------------------------===//

#include "AssignBody.h"
#include "BodyPropagation.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

/// How the operands lie once they hold the axes that propagation gave to their
/// factors above all else.
SmallVector<DistAttr> BodyAssigner::asDecided(Operation *op,
                                              const OpRule &rule) const {
  SmallVector<SmallVector<AxisRef>> decided(rule.factors.size());
  auto given = op->getAttrOfType<ConstraintAttr>(decided::factors);
  for (unsigned factor = 0; given && factor < rule.factors.size(); ++factor)
    if (given.getPriorities()[factor] == 0)
      if (auto axes = resolveAxes(op->getLoc(), mesh, given, factor);
          succeeded(axes))
        decided[factor] = *axes;
  SmallVector<DistAttr> dists;
  for (auto [operand, factorsOf] :
       llvm::zip(op->getOperands(), rule.operands)) {
    DistAttr dist = getDist(operand);
    DimAxes wanted(factorsOf.size());
    SmallVector<AxisRef> taken;
    for (auto [dim, factors] : llvm::enumerate(factorsOf))
      for (unsigned factor : factors) {
        llvm::append_range(wanted[dim], decided[factor]);
        llvm::append_range(taken, decided[factor]);
      }
    if (!dist || taken.empty()) {
      dists.push_back(dist);
      continue;
    }
    DimAxes dims = dist.getDims();
    SmallVector<int64_t> padded(dist.getPaddedExtents());
    for (unsigned dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim] == wanted[dim] ||
          (wanted[dim].empty() && !axesOverlap(dims[dim], taken)))
        continue;
      dims[dim] = wanted[dim];
      padded[dim] = paddedExtent(
          cast<RankedTensorType>(operand.getType()).getDimSize(dim), dims[dim]);
    }
    bool whole = axesOverlap(dist.getPartialAxes(), taken);
    dists.push_back(
        DistAttr::get(mesh.getContext(), mesh, dims,
                      whole ? ArrayRef<AxisRef>() : dist.getPartialAxes(),
                      dist.getPartialKind(), padded));
  }
  return dists;
}

/// The axes of dimensions of blocked factors, one after the other.
static SmallVector<AxisRef> blockedAxes(DistAttr dist, const DimFactors &dims,
                                        const OpRule &rule) {
  SmallVector<AxisRef> axes;
  for (auto [dim, factors] : llvm::enumerate(dims))
    for (unsigned factor : factors)
      if (dist && rule.factors[factor].kind == FactorKind::Blocked)
        llvm::append_range(axes, dist.getDimAxes(dim));
  return axes;
}

/// A blocked factor that an operand has sharded, also once other factors have
/// what was decided: the decomposed form shows the inner collectives. Its
/// pieces are not bound by the decisions, so blocked dimensions are told as
/// they lie.
bool BodyAssigner::decompose(Operation *op, const OpRule &rule) {
  auto decomposable = dyn_cast<Decomposable>(op);
  if (!decomposable)
    return false;
  SmallVector<DistAttr> dists = asDecided(op, rule);
  bool sharded = false;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto stay = blockedAxes(dists[i], rule.operands[i], rule);
    sharded |= !stay.empty();
    if (stay != blockedAxes(getDist(operand), rule.operands[i], rule))
      dists[i] = getDist(operand);
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
  SmallVector<Value> values = decomposable.decomposeSharded(builder, dists);
  for (auto [value, type] : llvm::reverse(kept))
    value.setType(type);
  if (values.empty())
    return false;
  op->replaceAllUsesWith(values);
  op->erase();
  return true;
}
