//===- ExpandMovement.cpp - what kernels have no form for -----------------===//
//
// Kernels read one dimension of an operand at another place, by an affine or a
// computed index. What moves more at once becomes several such operations:
// windows with dilation, boxes of several dimensions, the k largest elements.
//
//===----------------------------------------------------------------------===//

#include "Composer.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::compose;

/// Past this every step over the operand costs more than a sort would.
static constexpr int64_t maxTopK = 32;

namespace {

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Elements apart by d - 1 zeros are the rows of [n, d] whose first column is
/// the operand.
void expandDilation(WindowOp op, OpBuilder &b) {
  Composer c(b, op);
  int64_t dim = op.getDim(), dilation = op.getDilation();
  SmallVector<int64_t> shape(shapeOf(op.getX())), merged(shape);
  merged[dim] *= dilation;
  shape.insert(shape.begin() + dim + 1, dilation);
  auto element = cast<RankedTensorType>(op.getX().getType()).getElementType();
  auto like = c.splat(RankedTensorType::get(shape, element), 0);
  Value first =
      c.compare(ComparePredicate::EQ, c.iota(like, dim + 1), c.integer(0));
  Value columns = c.select(first, c.spread(op.getX(), like, dim + 1),
                           c.scalarLike(op.getX(), 0));
  Value spread = ReshapeOp::create(
      b, op.getLoc(), RankedTensorType::get(merged, element), columns);
  op.getXMutable().assign(spread);
  op.setDilation(1);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

template <typename ListT> ListT entry(ListT list, unsigned index);
template <> DenseI64ArrayAttr entry(DenseI64ArrayAttr list, unsigned index) {
  return list ? DenseI64ArrayAttr::get(list.getContext(), list[index]) : list;
}
template <> ArrayAttr entry(ArrayAttr list, unsigned index) {
  return list ? ArrayAttr::get(list.getContext(), list[index]) : list;
}

/// The box along entry `index` of the dimensions alone.
Value sliceAlong(DynamicSliceOp op, OpBuilder &b, Value x, unsigned index) {
  int64_t dim = op.getDims()[index];
  auto from = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(from.getShape());
  shape[dim] = shapeOf(op.getResult())[dim];
  return DynamicSliceOp::create(
      b, op.getLoc(), RankedTensorType::get(shape, from.getElementType()), x,
      ValueRange{op.getStarts()[index]}, b.getDenseI64ArrayAttr({dim}),
      entry(op.getExtentsAttr(), index), entry(op.getSizesAttr(), index),
      entry(op.getOffsetsAttr(), index),
      entry(op.getResultOffsetsAttr(), index));
}

Value expand(DynamicSliceOp op, OpBuilder &b) {
  Value x = op.getX();
  for (unsigned index = 0; index < op.getDims().size(); ++index)
    x = sliceAlong(op, b, x, index);
  return x;
}

/// Rows that the box covers are read, updated along the other dimensions, and
/// written back.
Value updateFrom(DynamicUpdateSliceOp op, OpBuilder &b, Value x,
                 unsigned index) {
  Location loc = op.getLoc();
  int64_t dim = op.getDims()[index];
  Value start = op.getStarts()[index], update = op.getUpdate();
  auto extents = entry(op.getExtentsAttr(), index);
  auto offsets = entry(op.getOffsetsAttr(), index);
  if (index + 1 < op.getDims().size()) {
    auto from = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(from.getShape());
    shape[dim] = shapeOf(update)[dim];
    Value rows = DynamicSliceOp::create(
        b, loc, RankedTensorType::get(shape, from.getElementType()), x,
        ValueRange{start}, b.getDenseI64ArrayAttr({dim}), extents,
        extents ? b.getDenseI64ArrayAttr({shape[dim]}) : DenseI64ArrayAttr(),
        offsets, ArrayAttr());
    if (offsets)
      rows.getDefiningOp<DynamicSliceOp>().setResultOffsetsAttr(ArrayAttr::get(
          b.getContext(),
          OffsetAttr::get(b.getContext(),
                          cast<OffsetAttr>(offsets[0]).getMesh(), {}, {}, 0)));
    update = updateFrom(op, b, rows, index + 1);
  }
  return DynamicUpdateSliceOp::create(
      b, loc, x.getType(), x, update, ValueRange{start},
      b.getDenseI64ArrayAttr({dim}), extents, offsets);
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

/// The largest, k times; what was taken counts as the lowest value from then
/// on.
SmallVector<Value> expand(TopKOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  int64_t dim = op.getDim();
  auto element = cast<RankedTensorType>(x.getType()).getElementType();
  constexpr double none = std::numeric_limits<int32_t>::max();
  double low = isa<FloatType>(element)
                   ? -std::numeric_limits<double>::infinity()
                   : double(std::numeric_limits<int32_t>::min());
  Value lowest = c.scalarLike(x, low), nowhere = c.integer(none);
  Value position = c.iota(x, dim, op.getOffsetAttr());
  Value index = op.getIndices() ? op.getIndices() : position;
  if (op.getExtent()) {
    Value counts =
        c.compare(ComparePredicate::LT, position, c.integer(*op.getExtent()));
    x = c.select(counts, x, lowest);
    index = c.select(counts, index, nowhere);
  }
  Value values = c.splat(bareType(op.getValues().getType()), low);
  Value places = c.splat(bareType(op.getPositions().getType()), none);
  Value column = c.iota(places, dim);
  for (int64_t k = 0; k < int64_t(op.getK()); ++k) {
    Value best = c.reduceDim(ReduceKind::Max, x, dim);
    Value isBest = c.compare(ComparePredicate::EQ, x, c.spread(best, x, dim));
    Value isNan = c.compare(ComparePredicate::NE, x, x);
    Value where = c.reduceDim(
        ReduceKind::Min,
        c.select(isBest, index, c.select(isNan, index, nowhere)), dim);
    Value here = c.compare(ComparePredicate::EQ, column, c.integer(k));
    values = c.select(here, c.spread(best, values, dim), values);
    places = c.select(here, c.spread(where, places, dim), places);
    Value taken =
        c.compare(ComparePredicate::EQ, index, c.spread(where, index, dim));
    x = c.select(taken, lowest, x);
    index = c.select(taken, nowhere, index);
  }
  return {values, places};
}

LogicalResult expandOp(Operation *op) {
  OpBuilder b(op);
  SmallVector<Value> values;
  if (auto window = dyn_cast<WindowOp>(op)) {
    if (window.getDilation() != 1)
      expandDilation(window, b);
  } else if (auto slice = dyn_cast<DynamicSliceOp>(op)) {
    if (slice.getDims().size() != 1)
      values.push_back(expand(slice, b));
  } else if (auto update = dyn_cast<DynamicUpdateSliceOp>(op)) {
    if (update.getDims().empty())
      values.push_back(update.getUpdate());
    else if (update.getDims().size() > 1)
      values.push_back(updateFrom(update, b, update.getX(), 0));
  } else if (auto top = dyn_cast<TopKOp>(op)) {
    if (top.getBlocks() != 1 || int64_t(top.getK()) > maxTopK)
      return op->emitOpError("of ")
             << int64_t(top.getK()) << " elements in "
             << int64_t(top.getBlocks()) << " blocks has no kernel; up to "
             << maxTopK << " elements in one block have";
    values = expand(top, b);
  }
  if (values.empty())
    return success();
  op->replaceAllUsesWith(values);
  op->erase();
  return success();
}

} // namespace

LogicalResult stretto::expandMovement(SegmentOp segment) {
  SmallVector<Operation *> ops;
  segment.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(expandOp(op)))
      return failure();
  return success();
}
