//===- Movement.cpp - operations that move elements -----------------------===//

#include "RuleUtils.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

/// One attribute entry per listed dimension, dimensions ascending in range.
static LogicalResult verifyPerDim(Operation *op, ArrayRef<int64_t> dims,
                                  int64_t rank,
                                  ArrayRef<ArrayRef<int64_t>> lists) {
  for (ArrayRef<int64_t> list : lists)
    if (list.size() != dims.size())
      return op->emitOpError("lists ") << dims.size() << " dimensions but "
                                       << list.size() << " numbers for them";
  return verifyDims(op, dims, rank);
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

namespace {
/// Pairs the dimensions of the two sides of a reshape, most major first.
/// Common divisors of what is left of the current dimensions become shared
/// factors; where there are none, everything up to the next common border is
/// blocked.
class ReshapeMatcher {
public:
  ReshapeMatcher(OpRule &rule, ArrayRef<int64_t> from, ArrayRef<int64_t> to)
      : rule(rule), sides{Side(from), Side(to)} {}

  void run() {
    if (llvm::is_contained(sides[0].sizes, 0) ||
        llvm::is_contained(sides[1].sizes, 0))
      return blockRest();
    while (sides[0].next() && sides[1].next())
      step();
    blockRest();
  }
  const DimFactors &dims(unsigned side) const { return sides[side].dims; }

private:
  struct Side {
    explicit Side(ArrayRef<int64_t> shape)
        : sizes(shape), dims(shape.size()), rest(shape) {}
    bool done() const { return at == sizes.size(); }
    /// Moves to a dimension that is not used up; false at the end.
    bool next() {
      while (!done() && rest[at] == 1 && !dims[at].empty())
        ++at;
      return !done();
    }
    SmallVector<int64_t> sizes;
    DimFactors dims;
    SmallVector<int64_t> rest; // extent not yet given to factors
    unsigned at = 0;
  };

  void step() {
    int64_t a = sides[0].rest[sides[0].at], b = sides[1].rest[sides[1].at];
    if (a == b)
      return share(a);
    for (Side &side : sides)
      if (side.rest[side.at] == 1)
        return block(side);
    if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b))
      return blockRest();
    int64_t common = std::gcd(a, b);
    common > 1 ? share(common) : blockToBorder();
  }
  void share(int64_t size) {
    unsigned factor = rule.addFactor(size);
    for (Side &side : sides) {
      side.dims[side.at].push_back(factor);
      int64_t &rest = side.rest[side.at];
      rest = rest == size ? 1 : rest / size;
    }
  }
  void block(Side &side) {
    side.dims[side.at].push_back(
        rule.addFactor(side.rest[side.at], FactorKind::Blocked));
    side.rest[side.at] = 1;
  }
  /// Blocks dimensions of both sides until the same number of elements is
  /// covered.
  void blockToBorder() {
    int64_t covered[2] = {1, 1};
    do {
      unsigned behind = covered[0] > covered[1];
      Side &side = sides[behind];
      if (!side.next() || ShapedType::isDynamic(side.rest[side.at]))
        return blockRest();
      covered[behind] *= side.rest[side.at];
      block(side);
    } while (covered[0] != covered[1]);
  }
  void blockRest() {
    for (Side &side : sides)
      while (!side.done()) {
        if (side.rest[side.at] != 1 || side.dims[side.at].empty())
          block(side);
        ++side.at;
      }
  }

  OpRule &rule;
  Side sides[2];
};
} // namespace

static int64_t staticProduct(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= ShapedType::isDynamic(extent) ? 1 : extent;
  return product;
}

/// `to` with its dynamic extents as far as `from` tells: leading ones that
/// face each other are equal, the last one follows from the element count.
static SmallVector<int64_t> resolveReshape(ArrayRef<int64_t> from,
                                           ArrayRef<int64_t> to) {
  SmallVector<int64_t> resolved(to);
  unsigned open = llvm::count_if(to, ShapedType::isDynamic);
  for (unsigned i = 0; i < from.size() && i < resolved.size() && open > 1;
       ++i) {
    if (!ShapedType::isDynamic(resolved[i]) && resolved[i] != from[i])
      break;
    open -= ShapedType::isDynamic(resolved[i]);
    resolved[i] = from[i];
  }
  bool known = llvm::none_of(from, ShapedType::isDynamic);
  int64_t rest = staticProduct(resolved), all = staticProduct(from);
  if (open != 1 || !known || rest == 0 || all % rest != 0)
    return resolved;
  for (int64_t &extent : resolved)
    if (ShapedType::isDynamic(extent))
      extent = all / rest;
  return resolved;
}

LogicalResult ReshapeOp::verify() {
  ArrayRef<int64_t> from = shape(getX()), to = shape(getResult());
  if (llvm::none_of(from, ShapedType::isDynamic) &&
      llvm::none_of(to, ShapedType::isDynamic) &&
      staticProduct(from) != staticProduct(to))
    return emitOpError("has ") << staticProduct(from) << " elements in and "
                               << staticProduct(to) << " out";
  return success();
}

OpRule ReshapeOp::getShardingRule() {
  OpRule rule;
  SmallVector<int64_t> to = resolveReshape(shape(getX()), shape(getResult()));
  ReshapeMatcher matcher(rule, shape(getX()), to);
  matcher.run();
  rule.operands.push_back(matcher.dims(0));
  rule.results.push_back(matcher.dims(1));
  rule.linearSets = {{{0}}};
  return rule;
}

//===----------------------------------------------------------------------===//
// slice, pad, concat: blocked along what they move; as windows (Decompose) they
// work on shards
//===----------------------------------------------------------------------===//

/// Other dimensions are common, those in `dims` blocked on either side.
static OpRule blockedAlong(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                           ArrayRef<int64_t> dims) {
  OpRule rule;
  SmallVector<unsigned> operand, result;
  for (auto [dim, extent] : llvm::enumerate(from)) {
    bool moved = llvm::is_contained(dims, int64_t(dim));
    operand.push_back(rule.addFactor(extent, moved ? FactorKind::Blocked
                                                   : FactorKind::Parallel));
    result.push_back(moved ? rule.addFactor(to[dim], FactorKind::Blocked)
                           : operand.back());
  }
  rule.operands.push_back(OpRule::plain(operand));
  rule.results.push_back(OpRule::plain(result));
  rule.linearSets = {{{0}}};
  return rule;
}

LogicalResult
SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                          ValueRange operands, DictionaryAttr attributes,
                          OpaqueProperties properties, RegionRange regions,
                          SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<int64_t> result(shape(operands[0]));
  size_t count = adaptor.getDims().size();
  if (adaptor.getStarts().size() != count ||
      adaptor.getLimits().size() != count ||
      adaptor.getStrides().size() != count)
    return emitOptionalError(loc, "slice lists ", count,
                             " dimensions but not as many starts, limits and "
                             "strides");
  for (auto [dim, start, limit, stride] :
       llvm::zip(adaptor.getDims(), adaptor.getStarts(), adaptor.getLimits(),
                 adaptor.getStrides())) {
    if (dim < 0 || dim >= int64_t(result.size()))
      return emitOptionalError(loc, "slice dimension ", dim,
                               " is outside rank ", result.size());
    if (stride < 1 || start < 0 || limit < start ||
        (!ShapedType::isDynamic(result[dim]) && limit > result[dim]))
      return emitOptionalError(loc, "slice [", start, ", ", limit,
                               ") with stride ", stride, " of dimension ", dim,
                               " does not lie in an extent of ", result[dim]);
    result[dim] = limit == start ? 0 : (limit - start - 1) / stride + 1;
  }
  inferred.push_back(make(result, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult SliceOp::verify() {
  return verifyPerDim(*this, getDims(), shape(getX()).size(),
                      {getStarts(), getLimits(), getStrides()});
}

OpRule SliceOp::getShardingRule() {
  return blockedAlong(shape(getX()), shape(getResult()), getDims());
}

/// Nothing when it is negative or cannot be counted.
static std::optional<int64_t> paddedExtent(int64_t extent, int64_t low,
                                           int64_t high, int64_t interior) {
  int64_t gaps, padded;
  if (interior < 0 ||
      llvm::MulOverflow(std::max<int64_t>(extent - 1, 0), interior, gaps) ||
      llvm::AddOverflow(extent, gaps, padded) ||
      llvm::AddOverflow(padded, low, padded) ||
      llvm::AddOverflow(padded, high, padded) || padded < 0)
    return std::nullopt;
  return padded;
}

LogicalResult
PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  SmallVector<int64_t> result(shape(operands[0]));
  size_t count = adaptor.getDims().size();
  if (adaptor.getLow().size() != count || adaptor.getHigh().size() != count ||
      adaptor.getInterior().size() != count)
    return emitOptionalError(loc, "pad lists ", count,
                             " dimensions but not as many low, high and "
                             "interior");
  for (auto [dim, low, high, interior] :
       llvm::zip(adaptor.getDims(), adaptor.getLow(), adaptor.getHigh(),
                 adaptor.getInterior())) {
    if (dim < 0 || dim >= int64_t(result.size()))
      return emitOptionalError(loc, "pad dimension ", dim, " is outside rank ",
                               result.size());
    int64_t extent = result[dim];
    if (ShapedType::isDynamic(extent))
      return emitOptionalError(loc, "pad along a dimension of unknown extent");
    std::optional<int64_t> padded = paddedExtent(extent, low, high, interior);
    if (!padded)
      return emitOptionalError(loc, "pad of dimension ", dim, " by ", low,
                               " and ", high, " with interior ", interior,
                               " leaves no extent of ", extent);
    result[dim] = *padded;
  }
  inferred.push_back(make(result, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult PadOp::verify() {
  return verifyPerDim(*this, getDims(), shape(getX()).size(),
                      {getLow(), getHigh(), getInterior()});
}

OpRule PadOp::getShardingRule() {
  OpRule rule = blockedAlong(shape(getX()), shape(getResult()), getDims());
  if (!getValue().isZero())
    rule.linearSets.clear();
  return rule;
}

LogicalResult
ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &inferred) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(loc, "concat of nothing");
  SmallVector<int64_t> result(shape(operands[0]));
  int64_t dim = adaptor.getDim(), total = 0;
  if (dim < 0 || dim >= int64_t(result.size()))
    return emitOptionalError(loc, "concat dimension ", dim, " is outside rank ",
                             result.size());
  for (Value operand : operands) {
    if (shape(operand).size() != result.size())
      return emitOptionalError(loc, "concat of rank ", result.size(), " and ",
                               shape(operand).size());
    for (auto [d, extent] : llvm::enumerate(shape(operand))) {
      if (int64_t(d) == dim && ShapedType::isDynamic(extent))
        return emitOptionalError(loc,
                                 "concat along a dimension of unknown extent");
      if (int64_t(d) != dim && !compatible({extent}, {result[d]}))
        return emitOptionalError(loc, "concat along dimension ", dim,
                                 ": dimension ", d, " is ", result[d], " and ",
                                 extent);
      result[d] = mergeExtent(result[d], extent);
    }
    if (llvm::AddOverflow(total, shape(operand)[dim], total))
      return emitOptionalError(loc, "concat along dimension ", dim,
                               " has more than 2^63 elements");
  }
  result[dim] = total;
  inferred.push_back(make(result, tensor(operands[0]).getElementType()));
  return success();
}

LogicalResult ConcatOp::verify() {
  return verifyDims(*this, {int64_t(getDim())}, shape(getResult()).size());
}

OpRule ConcatOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> common = rule.addFactors(shape(getResult()));
  rule.factors[common[getDim()]].kind = FactorKind::Blocked;
  LinearSet all;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    SmallVector<unsigned> own(common);
    own[getDim()] = rule.addFactor(shape(input)[getDim()], FactorKind::Blocked);
    rule.operands.push_back(OpRule::plain(own));
    all.operands.push_back(index);
  }
  rule.results.push_back(OpRule::plain(common));
  rule.linearSets = {all};
  return rule;
}

//===----------------------------------------------------------------------===//
// window
//===----------------------------------------------------------------------===//

LogicalResult WindowOp::verify() {
  ArrayRef<int64_t> from = shape(getX()), to = shape(getResult());
  if (failed(verifyDims(*this, {int64_t(getDim())}, from.size())))
    return failure();
  if (int64_t(getStride()) < 1 || int64_t(getDilation()) < 1)
    return emitOpError("needs a stride and a dilation of at least 1, got ")
           << int64_t(getStride()) << " and " << int64_t(getDilation());
  SmallVector<int64_t> expected(from);
  if (from.size() == to.size())
    expected[getDim()] = to[getDim()];
  if (!compatible(to, expected))
    return emitOpError("must keep every dimension but ") << getDim();
  if (getGroup() && getDist(getX()))
    return emitOpError("has a group before localize; its axes are those of "
                       "its operand's dimension ")
           << getDim();
  return success();
}

OpRule WindowOp::getShardingRule() {
  OpRule rule;
  SmallVector<unsigned> operand, result;
  for (auto [dim, extent] : llvm::enumerate(shape(getX()))) {
    bool moved = dim == getDim();
    operand.push_back(moved ? rule.addWindow(extent, shape(getResult())[dim])
                            : rule.addFactor(extent));
    result.push_back(operand.back() + moved);
  }
  rule.operands.push_back(OpRule::plain(operand));
  rule.results.push_back(OpRule::plain(result));
  rule.linearSets = {{{0}}};
  return rule;
}

void WindowOp::localizeAttributes(ArrayRef<DistAttr> operands,
                                  ArrayRef<DistAttr>, Operation *) {
  ArrayRef<AxisRef> axes = operands[0].getDimAxes(getDim());
  if (!axes.empty())
    setGroupAttr(GroupAttr::get(getContext(), operands[0].getMesh(), axes));
}
