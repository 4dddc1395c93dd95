//===- Fit.cpp - distributions that an operation would take ---------------===//

#include "stretto/Dialect/Stretto/IR/Fit.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;

namespace {
/// Makes one fit: values are asked in an order, the first to say something
/// about a factor is obeyed.
class Fitter {
public:
  Fitter(Operation *op, const OpRule &rule)
      : op(op), rule(rule), placement(rule), known(rule.factors.size(), false),
        mesh(getDist(op->getNumOperands() ? op->getOperand(0)
                                          : Value(op->getResult(0)))
                 .getMesh()) {}

  void ask(Value value, const DimFactors &dims) {
    DistAttr dist = getDist(value);
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      auto split = splitDim(dist, dim, factors, rule);
      if (succeeded(split) && isFree(factors, *split))
        take(dist, dim, factors, *split);
    }
  }

  /// Both sides of a window hold the axes of the one that was heard.
  void settleWindows() {
    for (auto [i, factor] : llvm::enumerate(rule.factors)) {
      if (factor.partner < 0 || !known[i])
        continue;
      unsigned other = factor.partner;
      if (known[other] && placement.axes[other] == placement.axes[i])
        continue;
      placement.axes[other] = placement.axes[i];
      placement.padded[other] =
          paddingFor(rule.factors[other].size, placement.axes[i]);
      known[other] = true;
    }
  }

  /// The fit that lets the common partial sums of `linear` pass.
  Fit finish(const LinearSet *linear) const;

private:
  static int64_t paddingFor(int64_t size, ArrayRef<AxisRef> axes) {
    int64_t shards = productOf(axes);
    return size % shards == 0 ? 0 : llvm::alignTo(size, shards);
  }

  /// Is nothing said yet about `factors`, or the same, and does no other factor
  /// hold the axes?
  bool isFree(ArrayRef<unsigned> factors,
              ArrayRef<SmallVector<AxisRef>> split) const {
    for (auto [factor, list] : llvm::zip(factors, split)) {
      SmallVector<AxisRef> axes = canonicalAxes(list);
      if (known[factor] && placement.axes[factor] != axes)
        return false;
      if (rule.factors[factor].kind == FactorKind::Blocked && !axes.empty())
        return false;
      for (unsigned other = 0; other < rule.factors.size(); ++other)
        if (other != factor && int(other) != rule.factors[factor].partner &&
            axesOverlap(axes, placement.axes[other]))
          return false;
    }
    return true;
  }

  void take(DistAttr dist, unsigned dim, ArrayRef<unsigned> factors,
            ArrayRef<SmallVector<AxisRef>> split) {
    for (auto [index, factor] : llvm::enumerate(factors)) {
      if (known[factor])
        continue;
      known[factor] = true;
      placement.axes[factor] = canonicalAxes(split[index]);
      if (index == 0)
        placement.padded[factor] =
            paddedUnits(dist, dim, factors, placement.sizes);
    }
  }

  SmallVector<AxisRef> passing(const LinearSet *linear) const;

  Operation *op;
  const OpRule &rule;
  Placement placement;
  SmallVector<bool> known;
  MeshAttr mesh;
};
} // namespace

/// The sums that all operands of the set still have to take, over axes that no
/// factor holds.
SmallVector<AxisRef> Fitter::passing(const LinearSet *linear) const {
  if (!linear || linear->operands.empty())
    return {};
  SmallVector<AxisRef> common;
  for (AxisRef axis :
       getDist(op->getOperand(linear->operands[0])).getPartialAxes()) {
    bool isCommon = llvm::all_of(linear->operands, [&](unsigned operand) {
      DistAttr dist = getDist(op->getOperand(operand));
      return dist.getPartialKind() == ReduceKind::Sum &&
             llvm::is_contained(dist.getPartialAxes(), axis);
    });
    bool isHeld = llvm::any_of(placement.axes, [&](const auto &axes) {
      return axesOverlap(axis, axes);
    });
    if (isCommon && !isHeld)
      common.push_back(axis);
  }
  return common;
}

/// `dist` as a partial `kind` over `axes`.
static DistAttr asPartial(DistAttr dist, ArrayRef<AxisRef> axes,
                          ReduceKind kind) {
  return DistAttr::get(dist.getContext(), dist.getMesh(), dist.getDims(), axes,
                       kind, dist.getPaddedExtents());
}

Fit Fitter::finish(const LinearSet *linear) const {
  SmallVector<AxisRef> sums = passing(linear);
  Fit fit;
  for (auto [index, dims] : llvm::enumerate(rule.operands)) {
    DistAttr dist = distributionOf(mesh, dims, placement);
    bool isPartial =
        !sums.empty() && llvm::is_contained(linear->operands, unsigned(index));
    fit.operands.push_back(isPartial ? asPartial(dist, sums, ReduceKind::Sum)
                                     : dist);
  }
  for (auto [index, dims] : llvm::enumerate(rule.results)) {
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> axes = reductionAxes(rule, index, placement, kind);
    if (!sums.empty() && linear->reaches(index))
      llvm::append_range(axes, sums);
    fit.results.push_back(
        asPartial(distributionOf(mesh, dims, placement), axes, kind));
  }
  return fit;
}

/// Values and elements that a fit changes; of equal ones the first is better.
static std::pair<unsigned, double> distance(Operation *op, const Fit &fit) {
  unsigned values = 0;
  double elements = 0;
  auto add = [&](ValueRange all, ArrayRef<DistAttr> dists) {
    for (auto [value, dist] : llvm::zip(all, dists)) {
      if (getDist(value) == dist)
        continue;
      ++values;
      double count = 1;
      for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
        count *= size;
      elements += count;
    }
  };
  add(op->getOperands(), fit.operands);
  add(op->getResults(), fit.results);
  return {values, elements};
}

/// Would the encodings be accepted, and does the rule read off the dimensions
/// what was put into them?
static bool isConsistent(Operation *op, const OpRule &rule, const Fit &fit) {
  auto consistent = [&](Value value, DistAttr dist, const DimFactors &dims) {
    for (auto [dim, size] :
         llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape())) {
      int64_t shards = dist.getNumShards(dim),
              padded = dist.getPaddedExtents()[dim];
      bool isPlain = shards == 1 && padded == 0;
      if (ShapedType::isDynamic(size)
              ? !isPlain
              : (padded && padded < size) || (padded ? padded : size) % shards)
        return false;
      if (failed(splitDim(dist, dim, dims[dim], rule)))
        return false;
    }
    return true;
  };
  for (auto [i, dist] : llvm::enumerate(fit.operands))
    if (!consistent(op->getOperand(i), dist, rule.operands[i]))
      return false;
  for (auto [i, dist] : llvm::enumerate(fit.results))
    if (!consistent(op->getResult(i), dist, rule.results[i]))
      return false;
  return succeeded(checkDistributions(rule, fit.operands, fit.results));
}

Fit stretto::nearestFit(Operation *op, const OpRule &rule) {
  SmallVector<std::pair<Value, const DimFactors *>> values;
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands))
    values.emplace_back(value, &dims);
  for (auto [value, dims] : llvm::zip(op->getResults(), rule.results))
    values.emplace_back(value, &dims);

  // Whole values fit any rule.
  Fit best = Fitter(op, rule).finish(nullptr);
  auto least = distance(op, best);
  auto consider = [&](Fit fit) {
    auto cost = distance(op, fit);
    if (cost >= least || !isConsistent(op, rule, fit))
      return;
    best = std::move(fit);
    least = cost;
  };
  for (const auto &[leader, leaderDims] : values) {
    Fitter fitter(op, rule);
    fitter.ask(leader, *leaderDims);
    for (const auto &[value, dims] : values)
      fitter.ask(value, *dims);
    fitter.settleWindows();
    consider(fitter.finish(nullptr));
    for (const LinearSet &linear : rule.linearSets)
      consider(fitter.finish(&linear));
  }
  return best;
}

void stretto::attachFit(InFlightDiagnostic &error, Operation *op,
                        const Fit &fit) {
  for (auto [index, dist] : llvm::enumerate(fit.operands)) {
    Value operand = op->getOperand(index);
    if (dist != getDist(operand))
      error.attachNote(operand.getLoc())
          << "this would fit: " << reshardText(operand, dist) << " for operand "
          << index;
  }
  for (auto [index, dist] : llvm::enumerate(fit.results)) {
    Value result = op->getResult(index);
    DistAttr claimed = getDist(result);
    if (dist == claimed)
      continue;
    Diagnostic &note = error.attachNote(result.getLoc())
                       << "this would fit: result " << index << " is "
                       << describe(dist);
    if (canReshard(dist, claimed))
      note << ", then " << reshardText(nameOf(result), dist, claimed);
    else
      note << ", from which no reshard leads to " << describe(claimed);
  }
}
