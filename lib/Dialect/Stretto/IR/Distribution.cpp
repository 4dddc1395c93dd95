//===- Distribution.cpp - from factor axes to distributions ---------------===//

#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace stretto;

FailureOr<SmallVector<SmallVector<AxisRef>>>
stretto::splitAxes(ArrayRef<AxisRef> axes, ArrayRef<int64_t> sizes) {
  SmallVector<SmallVector<AxisRef>> result(sizes.size());
  SmallVector<AxisRef> rest(axes.rbegin(), axes.rend()); // back = most major
  for (unsigned i = 0; i + 1 < sizes.size(); ++i) {
    int64_t room = sizes[i];
    while (room > 1 && !rest.empty()) {
      AxisRef ref = rest.pop_back_val();
      if (ref.size > room) {
        if (ref.size % room != 0)
          return failure();
        rest.push_back({ref.axis, ref.pre * room, ref.size / room});
        ref.size = room;
      }
      if (room % ref.size != 0)
        return failure();
      room /= ref.size;
      result[i].push_back(ref);
    }
    if (room > 1 && !rest.empty())
      return failure();
  }
  if (!sizes.empty())
    result.back().append(rest.rbegin(), rest.rend());
  else if (!rest.empty())
    return failure();
  return result;
}

/// The two are aligned digits of one axis: one end divides the other.
static bool aligned(int64_t a, int64_t b) { return b % a == 0 || a % b == 0; }

SmallVector<AxisRef> stretto::uniteAxes(MeshAttr mesh, ArrayRef<AxisRef> a,
                                        ArrayRef<AxisRef> b) {
  SmallVector<AxisRef> all;
  for (AxisRef ref : llvm::concat<const AxisRef>(a, b)) {
    for (auto *other = all.begin(); other != all.end();) {
      if (!ref.overlaps(*other)) {
        ++other;
        continue;
      }
      int64_t begin = std::min(ref.pre, other->pre);
      int64_t end = std::max(ref.pre * ref.size, other->pre * other->size);
      bool fits = aligned(ref.pre, other->pre) &&
                  aligned(ref.pre * ref.size, other->pre * other->size);
      ref = fits ? AxisRef{ref.axis, begin, end / begin} : mesh.axis(ref.axis);
      all.erase(other);
      other = all.begin();
    }
    all.push_back(ref);
  }
  llvm::sort(all);
  return canonicalAxes(all);
}

SmallVector<AxisRef> stretto::subtractAxes(ArrayRef<AxisRef> axes,
                                           ArrayRef<AxisRef> minus) {
  SmallVector<AxisRef> rest(axes);
  for (AxisRef cut : minus) {
    SmallVector<AxisRef> pieces;
    for (AxisRef ref : rest) {
      if (!ref.overlaps(cut)) {
        pieces.push_back(ref);
        continue;
      }
      int64_t end = ref.pre * ref.size, cutEnd = cut.pre * cut.size;
      if (ref.pre < cut.pre)
        pieces.push_back({ref.axis, ref.pre, cut.pre / ref.pre});
      if (cutEnd < end)
        pieces.push_back({ref.axis, cutEnd, end / cutEnd});
    }
    rest = pieces;
  }
  return rest;
}

/// Elements of the parts of a compound dimension after the first.
static int64_t minorSize(ArrayRef<unsigned> factors, ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (unsigned factor : factors.drop_front())
    product *= sizes[factor];
  return product;
}

FailureOr<SmallVector<SmallVector<AxisRef>>>
stretto::splitDim(DistAttr dist, unsigned dim, ArrayRef<unsigned> factors,
                  const OpRule &rule) {
  Placement all(rule);
  SmallVector<int64_t> sizes;
  for (unsigned factor : factors)
    sizes.push_back(all.sizes[factor]);
  int64_t padded = dist.getPaddedExtents()[dim];
  if (factors.size() > 1 && padded != 0) {
    int64_t minor = minorSize(factors, all.sizes);
    if (padded % minor != 0)
      return failure();
    sizes[0] = padded / minor;
  }
  auto split = splitAxes(dist.getDimAxes(dim), sizes);
  if (succeeded(split) && factors.size() > 1)
    for (auto [size, axes] : llvm::zip(sizes, *split))
      if (size % productOf(axes) != 0)
        return failure();
  return split;
}

DistAttr stretto::distributionOf(MeshAttr mesh, const DimFactors &dims,
                                 const Placement &placement) {
  SmallVector<SmallVector<AxisRef>> axes;
  SmallVector<int64_t> padded;
  for (const auto &dim : dims) {
    SmallVector<AxisRef> &list = axes.emplace_back();
    for (unsigned factor : dim)
      llvm::append_range(list, placement.axes[factor]);
    padded.push_back(dim.empty() ? 0
                                 : placement.padded[dim[0]] *
                                       minorSize(dim, placement.sizes));
  }
  return DistAttr::get(mesh.getContext(), mesh, axes, {}, ReduceKind::Sum,
                       padded);
}

SmallVector<AxisRef> stretto::reductionAxes(const OpRule &rule, unsigned result,
                                            const Placement &placement,
                                            ReduceKind &kind) {
  SmallVector<AxisRef> axes;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction || placement.axes[index].empty() ||
        rule.resultHasFactor(result, index))
      continue;
    kind = factor.reduce;
    llvm::append_range(axes, placement.axes[index]);
  }
  llvm::sort(axes);
  return canonicalAxes(axes);
}

//===----------------------------------------------------------------------===//
// What would fit
//===----------------------------------------------------------------------===//

/// `stretto.reshard %x : A -> B` as text, to be pasted before the operation.
static std::string reshardText(Value value, Type from, Type to) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "stretto.reshard ";
  // Verifying again to print nicely would come back here.
  value.printAsOperand(os, OpPrintingFlags().assumeVerified());
  os << " : " << from << " -> " << to;
  return text;
}

/// Notes the reshard of `operand` to `wanted` that would make the operation
/// fit.
static LogicalResult hintOperand(InFlightDiagnostic error, Value operand,
                                 DistAttr wanted) {
  auto type = cast<RankedTensorType>(operand.getType());
  error.attachNote(operand.getLoc())
      << "this would fit: "
      << reshardText(operand, type, withDist(type, wanted));
  return error;
}

/// A result's type follows from its operands: notes the type, and the reshard
/// after the operation to the type that was claimed.
static LogicalResult hintResult(InFlightDiagnostic error, Value result,
                                DistAttr follows) {
  auto claimed = cast<RankedTensorType>(result.getType());
  Type type = withDist(claimed, follows);
  error.attachNote(result.getLoc())
      << "this would fit: the result is " << type << ", then "
      << reshardText(result, type, claimed);
  return error;
}

/// The axes that can be used beside `taken`.
static SmallVector<AxisRef> without(ArrayRef<AxisRef> axes,
                                    ArrayRef<AxisRef> taken) {
  SmallVector<AxisRef> rest;
  for (AxisRef axis : axes)
    if (!axesOverlap(axis, taken))
      rest.push_back(axis);
  return rest;
}

/// `dist` with other axes and another padded extent along `dim`; axes that
/// other dimensions or the partial state have are taken from these.
static DistAttr withDim(DistAttr dist, unsigned dim, ArrayRef<AxisRef> axes,
                        int64_t padded) {
  SmallVector<SmallVector<AxisRef>> dims = dist.getDims();
  SmallVector<int64_t> extents(dist.getPaddedExtents());
  for (auto [other, list] : llvm::enumerate(dims))
    if (axesOverlap(list, axes)) {
      list.clear();
      extents[other] = 0;
    }
  dims[dim].assign(axes.begin(), axes.end());
  extents[dim] = padded;
  return DistAttr::get(dist.getContext(), dist.getMesh(), dims,
                       without(dist.getPartialAxes(), axes),
                       dist.getPartialKind(), extents);
}

/// The distribution that `placement` gives a value of `dims` that now has
/// `dist`; of axes that two dimensions hold, the first one keeps them.
static DistAttr fitting(DistAttr dist, const DimFactors &dims,
                        const Placement &placement) {
  SmallVector<SmallVector<AxisRef>> axes;
  SmallVector<int64_t> padded;
  SmallVector<AxisRef> used;
  for (const auto &dim : dims) {
    SmallVector<AxisRef> list;
    for (unsigned factor : dim)
      llvm::append_range(list, placement.axes[factor]);
    bool isFree = !axesOverlap(list, used) && !dim.empty();
    if (!isFree)
      list.clear();
    padded.push_back(isFree ? placement.padded[dim[0]] *
                                  minorSize(dim, placement.sizes)
                            : 0);
    llvm::append_range(used, list);
    axes.push_back(list);
  }
  return DistAttr::get(dist.getContext(), dist.getMesh(), axes,
                       without(dist.getPartialAxes(), used),
                       dist.getPartialKind(), padded);
}

//===----------------------------------------------------------------------===//
// Reading a placement off types
//===----------------------------------------------------------------------===//

/// Merges what one value says about its factors into `placement`.
static LogicalResult readValue(Operation *op, Value value, unsigned index,
                               const DimFactors &dims, const OpRule &rule,
                               Placement &placement,
                               SmallVectorImpl<bool> &known, bool diagnose) {
  DistAttr dist = getDist(value);
  bool isResult = value.getDefiningOp() == op;
  auto complain = [&](const Twine &message, DistAttr wanted) -> LogicalResult {
    if (!diagnose)
      return failure();
    InFlightDiagnostic error = op->emitOpError()
                               << (isResult ? "result " : "operand ") << index
                               << ": " << message;
    return isResult ? hintResult(std::move(error), value, wanted)
                    : hintOperand(std::move(error), value, wanted);
  };
  for (auto [d, factors] : llvm::enumerate(dims)) {
    auto split = splitDim(dist, d, factors, rule);
    if (failed(split))
      return complain("axes " + toString(dist.getMesh(), dist.getDimAxes(d)) +
                          " do not split over the parts of dimension " +
                          Twine(d),
                      withDim(dist, d, {}, 0));
    for (auto [factor, axes] : llvm::zip(factors, *split)) {
      SmallVector<AxisRef> merged = canonicalAxes(axes);
      // Of a compound dimension the first part alone is padded.
      int64_t padded =
          factor == factors[0]
              ? dist.getPaddedExtents()[d] / minorSize(factors, placement.sizes)
              : 0;
      if (rule.factors[factor].kind == FactorKind::Blocked && !merged.empty())
        return complain("dimension " + Twine(d) +
                            " must be whole, but lies on " +
                            toString(dist.getMesh(), merged),
                        withDim(dist, d, {}, 0));
      if (known[factor] && (placement.axes[factor] != merged ||
                            placement.padded[factor] != padded))
        return complain(
            "dimension " + Twine(d) + " lies on " +
                toString(dist.getMesh(), merged) + " (padded " + Twine(padded) +
                "), elsewhere in the operation the same factor lies on " +
                toString(dist.getMesh(), placement.axes[factor]) + " (padded " +
                Twine(placement.padded[factor]) + ")",
            isResult || factors.size() == 1
                ? (isResult ? fitting(dist, dims, placement)
                            : withDim(dist, d, placement.axes[factor],
                                      placement.padded[factor]))
                : withDim(dist, d, {}, 0));
      known[factor] = true;
      placement.axes[factor] = merged;
      placement.padded[factor] = padded;
    }
  }
  return success();
}

/// The first operand with `factor`, and its dimension of it.
static std::optional<std::pair<Value, unsigned>>
operandWith(Operation *op, const OpRule &rule, unsigned factor) {
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    for (auto [dim, factors] : llvm::enumerate(dims))
      if (llvm::is_contained(factors, factor))
        return std::pair<Value, unsigned>(operand, dim);
  return std::nullopt;
}

/// An axis serves one factor of an operation, or both sides of a window;
/// `complete`: both sides have been read.
static LogicalResult checkAxesOfFactors(Operation *op, const OpRule &rule,
                                        const Placement &placement,
                                        bool complete, bool diagnose) {
  auto text = [&](unsigned factor) {
    return toString(getDist(op->getResult(0)).getMesh(),
                    placement.axes[factor]);
  };
  // The hint gives an operand's dimension of `factor` other axes.
  auto hint = [&](InFlightDiagnostic error, unsigned factor,
                  ArrayRef<AxisRef> axes) -> LogicalResult {
    auto found = operandWith(op, rule, factor);
    if (!found)
      return error;
    auto [operand, dim] = *found;
    int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim),
            extent = llvm::alignTo(size, productOf(axes));
    return hintOperand(
        std::move(error), operand,
        withDim(getDist(operand), dim, axes, extent == size ? 0 : extent));
  };
  for (unsigned i = 0; i < rule.factors.size(); ++i) {
    int partner = rule.factors[i].partner;
    if (complete && partner >= 0 &&
        placement.axes[partner] != placement.axes[i]) {
      if (!diagnose)
        return failure();
      return hint(op->emitOpError("has the two sides of a window on ")
                      << text(i) << " and " << text(partner),
                  i, placement.axes[partner]);
    }
    for (unsigned j = 0; j < i; ++j) {
      if (partner == int(j) ||
          !axesOverlap(placement.axes[i], placement.axes[j]))
        continue;
      if (!diagnose)
        return failure();
      return hint(op->emitOpError("gives an axis of ")
                      << text(i) << " to two of its factors",
                  i, {});
    }
  }
  return success();
}

FailureOr<Placement> stretto::readPlacement(Operation *op, const OpRule &rule,
                                            bool diagnose) {
  Placement placement(rule);
  SmallVector<bool> known(rule.factors.size(), false);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (failed(readValue(op, operand, i, rule.operands[i], rule, placement,
                         known, diagnose)))
      return failure();
  if (failed(checkAxesOfFactors(op, rule, placement, false, diagnose)))
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (failed(readValue(op, result, i, rule.results[i], rule, placement, known,
                         diagnose)))
      return failure();
  if (failed(checkAxesOfFactors(op, rule, placement, true, diagnose)))
    return failure();
  return placement;
}

/// Axes that may pass as partial sums: the ones of the first linear set whose
/// operands are all partial over the same axes while nothing else is.
static FailureOr<SmallVector<AxisRef>>
passingPartial(Operation *op, const OpRule &rule, const Placement &placement) {
  SmallVector<unsigned> partial;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (getDist(operand).isPartial())
      partial.push_back(i);
  if (partial.empty())
    return SmallVector<AxisRef>();
  Value operand = op->getOperand(partial[0]);
  DistAttr first = getDist(operand), reduced = first.withoutPartial();
  std::string axes = toString(first.getMesh(), first.getPartialAxes());
  if (first.getPartialKind() != ReduceKind::Sum)
    return hintOperand(op->emitOpError("operand ")
                           << partial[0] << " is a partial "
                           << stringifyReduceKind(first.getPartialKind())
                           << "; reduce it first",
                       operand, reduced);
  for (unsigned i : ArrayRef(partial).drop_front())
    if (getDist(op->getOperand(i)).getPartialAxes() != first.getPartialAxes())
      return hintOperand(
          op->emitOpError("operands are partial over different "
                          "axes: operand ")
              << partial[0] << " over " << axes << ", operand " << i << " over "
              << toString(first.getMesh(),
                          getDist(op->getOperand(i)).getPartialAxes()),
          operand, reduced);
  bool linear = llvm::any_of(rule.linearSets, [&](const LinearSet &set) {
    return ArrayRef<unsigned>(set.operands) == ArrayRef<unsigned>(partial);
  });
  if (!linear)
    return hintOperand(
        op->emitOpError("is not linear in its partial operands (partial over ")
            << axes << "); an all-reduce is missing",
        operand, reduced);
  for (const auto &held : placement.axes)
    if (axesOverlap(held, first.getPartialAxes()))
      return hintOperand(
          op->emitOpError(
              "shards a factor over an axis of its partial operand ")
              << axes,
          operand, reduced);
  return SmallVector<AxisRef>(first.getPartialAxes());
}

/// Some values have a distribution and some have none: names one of each.
static LogicalResult verifyMixed(Operation *op) {
  std::string with, without;
  auto see = [&](ValueRange values, StringRef what) {
    for (auto [i, value] : llvm::enumerate(values)) {
      std::string &first = getDist(value) ? with : without;
      if (first.empty())
        first = (what + " " + Twine(i)).str();
    }
  };
  see(op->getOperands(), "operand");
  see(op->getResults(), "result");
  return op->emitOpError("mixes values with and without a distribution: ")
         << with << " has one, " << without
         << " has none; give all of them one (pass assign does) or none";
}

/// Invariants of a distributed operation, in this order: all or no values are
/// encoded; factors agree; partial operands pass by linearity; every result is
/// partial over exactly its reduced axes and what passes.
LogicalResult stretto::verifyDistribution(Operation *op) {
  unsigned encoded = 0, total = 0;
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                           SmallVector<Value>(op->getResults()))) {
    ++total;
    encoded += bool(getDist(value));
  }
  if (encoded == 0)
    return success();
  if (encoded != total)
    return verifyMixed(op);
  // Rules look at results; their shapes are else checked after traits.
  if (auto typed = dyn_cast<InferTypeOpInterface>(op))
    if (failed(mlir::detail::verifyInferredResultTypes(typed)))
      return failure();
  OpRule rule = cast<ShardingRule>(op).getShardingRule();
  FailureOr<Placement> placement = readPlacement(op, rule, /*diagnose=*/true);
  if (failed(placement))
    return failure();
  FailureOr<SmallVector<AxisRef>> passing =
      passingPartial(op, rule, *placement);
  if (failed(passing))
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    ReduceKind kind = ReduceKind::Sum;
    SmallVector<AxisRef> expected = reductionAxes(rule, i, *placement, kind);
    llvm::append_range(expected, *passing);
    llvm::sort(expected);
    expected = canonicalAxes(expected);
    DistAttr dist = getDist(result);
    if (ArrayRef<AxisRef>(expected) != dist.getPartialAxes() ||
        (!expected.empty() && kind != dist.getPartialKind()))
      return hintResult(op->emitOpError("result ")
                            << i << " is partial over "
                            << toString(dist.getMesh(), dist.getPartialAxes())
                            << ", expected " << stringifyReduceKind(kind) << " "
                            << toString(dist.getMesh(), expected),
                        result,
                        DistAttr::get(dist.getContext(), dist.getMesh(),
                                      dist.getDims(), expected, kind,
                                      dist.getPaddedExtents()));
  }
  return success();
}
