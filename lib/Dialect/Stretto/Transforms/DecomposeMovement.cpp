//===- DecomposeMovement.cpp - movement and selection as compositions -----===//
//
// What moves elements along a dimension becomes windows, which work on shards;
// what selects elements becomes reductions, which combine over shards.
//
//===----------------------------------------------------------------------===//

#include "Composer.h"
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::compose;

namespace {

SmallVector<Value> decompose(SliceOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  for (auto [dim, start, stride] :
       llvm::zip(op.getDims(), op.getStarts(), op.getStrides()))
    x = c.window(x, dim, shapeOf(op.getResult())[dim], start, stride);
  return {x};
}

/// Where along a dimension of `size` an element of the operand lies: what a
/// window makes of ones.
Value insideMask(Composer &c, OpBuilder &b, Value padded, int64_t dim,
                 int64_t extent, int64_t low, int64_t interior) {
  auto ones = RankedTensorType::get({extent}, b.getI32Type());
  Value mask = c.window(c.splat(ones, 1), 0, shapeOf(padded)[dim], -low, 1,
                        interior + 1);
  mask = c.compare(ComparePredicate::NE, mask, c.integer(0));
  return c.along(mask, padded, dim);
}

SmallVector<Value> decompose(PadOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  double value = op.getValue().convertToDouble();
  for (auto [dim, low, interior] :
       llvm::zip(op.getDims(), op.getLow(), op.getInterior())) {
    int64_t extent = shapeOf(x)[dim];
    x = c.window(x, dim, shapeOf(op.getResult())[dim], -low, 1, interior + 1);
    if (value == 0)
      continue;
    Value inside = insideMask(c, b, x, dim, extent, low, interior);
    x = c.select(inside, x, c.scalarLike(x, value));
  }
  return {x};
}

/// Every operand at its place, zeros around it; each covers what lies before.
SmallVector<Value> decompose(ConcatOp op, OpBuilder &b) {
  Composer c(b, op);
  int64_t dim = op.getDim(), total = shapeOf(op.getResult())[dim], begin = 0;
  Value all;
  for (Value input : op.getInputs()) {
    Value placed = c.window(input, dim, total, -begin);
    if (all)
      placed = c.select(c.compare(ComparePredicate::GE, c.iota(placed, dim),
                                  c.integer(begin)),
                        placed, all);
    all = placed;
    begin += shapeOf(input)[dim];
  }
  return {all};
}

/// The least position at which the extremum, or a NaN, is.
SmallVector<Value> decompose(ArgReduceOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  int64_t dim = op.getDim();
  Value best = c.spread(c.reduceDim(op.getKind(), x, dim), x, dim);
  Value position = c.iota(x, dim);
  Value nowhere = c.integer(std::numeric_limits<int32_t>::max());
  Value isNan = c.compare(ComparePredicate::NE, x, x);
  Value isBest = c.compare(ComparePredicate::EQ, x, best);
  Value found = c.select(isBest, position, c.select(isNan, position, nowhere));
  return {c.reduceDim(ReduceKind::Min, found, dim)};
}

/// The initial value takes part once, after the reduction.
SmallVector<Value> decompose(ReduceOp op, OpBuilder &b) {
  if (!op.getInit())
    return {};
  Composer c(b, op);
  Value all = c.reduce(op.getKind(), op.getX(), op.getDims());
  double init = op.getInit()->convertToDouble();
  Value first = c.scalarLike(all, init);
  switch (op.getKind()) {
  case ReduceKind::Sum:
    return {c.add(all, first)};
  case ReduceKind::Prod:
    return {c.mul(all, first)};
  case ReduceKind::Max:
    return {c.binary<MaximumOp>(all, first)};
  case ReduceKind::Min:
    return {c.binary<MinimumOp>(all, first)};
  case ReduceKind::And:
  case ReduceKind::Or:
    break;
  }
  bool settled = (init != 0) == (op.getKind() == ReduceKind::Or);
  return {settled ? c.splat(bareType(all.getType()), init != 0) : all};
}

/// The largest of every shard, gathered, and the largest of those. Shards of no
/// more than k elements (such as those candidates) are gathered as they are.
SmallVector<Value> topKOfShards(TopKOp op, OpBuilder &b,
                                ArrayRef<DistAttr> operands) {
  int64_t dim = op.getDim(), shards = operands[0].getNumShards(dim);
  int64_t block = (shapeOf(op.getX())[dim] + shards - 1) / shards;
  if (block <= int64_t(op.getK()))
    return {};
  auto build = [&](Value x, Value indices, int64_t k, int64_t blocks) {
    return TopKOp::create(b, op.getLoc(), x, indices, op.getDimAttr(),
                          b.getI64IntegerAttr(k), b.getI64IntegerAttr(blocks),
                          IntegerAttr(), OffsetAttr());
  };
  auto candidates = build(op.getX(), op.getIndices(), op.getK(), shards);
  auto best =
      build(candidates.getValues(), candidates.getPositions(), op.getK(), 1);
  return {best.getValues(), best.getPositions()};
}

template <typename OpT>
struct Model : Decomposable::ExternalModel<Model<OpT>, OpT> {
  SmallVector<Value> decompose(Operation *op, OpBuilder &builder) const {
    return ::decompose(cast<OpT>(op), builder);
  }
};

struct TopKModel : Decomposable::ExternalModel<TopKModel, TopKOp> {
  SmallVector<Value> decompose(Operation *, OpBuilder &) const { return {}; }
  SmallVector<Value> decomposeSharded(Operation *op, OpBuilder &builder,
                                      ArrayRef<DistAttr> operands) const {
    return topKOfShards(cast<TopKOp>(op), builder, operands);
  }
};

template <typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<Model<OpTs>>(*context), ...);
}

} // namespace

void compose::attachMovement(MLIRContext *context) {
  attach<SliceOp, PadOp, ConcatOp, ArgReduceOp, ReduceOp>(context);
  TopKOp::attachInterface<TopKModel>(*context);
}
