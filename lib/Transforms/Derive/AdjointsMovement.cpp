//===- AdjointsMovement.cpp - adjoints of what moves elements -------------===//
//
// What reads elements along a dimension has a window as its adjoint; what reads
// by index has one that writes by the same index.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::adjoint;

namespace {
/// Windows of cotangents.
struct Windows {
  OpBuilder &b;
  Location loc;

  Value make(Value g, int64_t dim, int64_t size, int64_t start,
             int64_t stride = 1, int64_t dilation = 1) const {
    SmallVector<int64_t> shape(typeOf(g).getShape());
    shape[dim] = size;
    return WindowOp::create(
        b, loc, RankedTensorType::get(shape, typeOf(g).getElementType()), g,
        b.getI64IntegerAttr(dim), b.getI64IntegerAttr(start),
        b.getI64IntegerAttr(stride), b.getI64IntegerAttr(dilation), GroupAttr(),
        OffsetAttr(), StringAttr());
  }
};

struct Reshape : Differentiable::ExternalModel<Reshape, ReshapeOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    return {ReshapeOp::create(b, op->getLoc(),
                              bareType(op->getOperand(0).getType()), g[0])};
  }
};

struct Window : Differentiable::ExternalModel<Window, WindowOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto window = cast<WindowOp>(op);
    int64_t dim = window.getDim();
    return {Windows{b, op->getLoc()}.make(
        g[0], dim, typeOf(window.getX()).getDimSize(dim),
        -int64_t(window.getStart()), window.getDilation(), window.getStride())};
  }
};

struct Slice : Differentiable::ExternalModel<Slice, SliceOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto slice = cast<SliceOp>(op);
    Value dx = g[0];
    for (auto [dim, start, stride] :
         llvm::zip(slice.getDims(), slice.getStarts(), slice.getStrides()))
      dx = Windows{b, op->getLoc()}.make(
          dx, dim, typeOf(slice.getX()).getDimSize(dim), -start, 1, stride);
    return {dx};
  }
};

struct Pad : Differentiable::ExternalModel<Pad, PadOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto pad = cast<PadOp>(op);
    Value dx = g[0];
    for (auto [dim, low, interior] :
         llvm::zip(pad.getDims(), pad.getLow(), pad.getInterior()))
      dx = Windows{b, op->getLoc()}.make(
          dx, dim, typeOf(pad.getX()).getDimSize(dim), low, interior + 1);
    return {dx};
  }
};

struct Concat : Differentiable::ExternalModel<Concat, ConcatOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto concat = cast<ConcatOp>(op);
    int64_t dim = concat.getDim(), begin = 0;
    Cotangents parts;
    for (Value input : concat.getInputs()) {
      int64_t size = typeOf(input).getDimSize(dim);
      parts.push_back(Windows{b, op->getLoc()}.make(g[0], dim, size, begin));
      begin += size;
    }
    return parts;
  }
};

/// Zeros in the shape of `like`.
Value zerosLike(OpBuilder &b, Location loc, Value like) {
  return ConstantOp::create(b, loc, bareType(like.getType()),
                            b.getF64FloatAttr(0));
}

Value update(OpBuilder &b, Location loc, Value x, Value box, ValueRange starts,
             ArrayRef<int64_t> dims) {
  return DynamicUpdateSliceOp::create(b, loc, x, box, starts, dims,
                                      DenseI64ArrayAttr(), ArrayAttr());
}

/// The cotangent lies in the box, zeros around it.
struct DynamicSlice
    : Differentiable::ExternalModel<DynamicSlice, DynamicSliceOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto slice = cast<DynamicSliceOp>(op);
    Cotangents result(op->getNumOperands());
    result[0] =
        update(b, op->getLoc(), zerosLike(b, op->getLoc(), slice.getX()), g[0],
               slice.getStarts(), slice.getDims());
    return result;
  }
};

/// Zeros in the box, and the box.
struct DynamicUpdateSlice
    : Differentiable::ExternalModel<DynamicUpdateSlice, DynamicUpdateSliceOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto slice = cast<DynamicUpdateSliceOp>(op);
    Location loc = op->getLoc();
    Cotangents result(op->getNumOperands());
    result[0] = update(b, loc, g[0], zerosLike(b, loc, slice.getUpdate()),
                       slice.getStarts(), slice.getDims());
    result[1] = DynamicSliceOp::create(
        b, loc, bareType(slice.getUpdate().getType()), g[0], slice.getStarts(),
        b.getDenseI64ArrayAttr(slice.getDims()), DenseI64ArrayAttr(),
        DenseI64ArrayAttr(), ArrayAttr(), ArrayAttr());
    return result;
  }
};

struct Gather : Differentiable::ExternalModel<Gather, GatherOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto gather = cast<GatherOp>(op);
    return {ScatterAddOp::create(b, op->getLoc(),
                                 bareType(gather.getX().getType()),
                                 gather.getIndices(), g[0], gather.getDimAttr(),
                                 gather.getBatchDimsAttr(), OffsetAttr()),
            Value()};
  }
};

struct ScatterAdd : Differentiable::ExternalModel<ScatterAdd, ScatterAddOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto scatter = cast<ScatterAddOp>(op);
    return {Value(),
            GatherOp::create(b, op->getLoc(), g[0], scatter.getIndices(),
                             scatter.getDimAttr(), scatter.getBatchDimsAttr(),
                             OffsetAttr())};
  }
};

/// The chosen elements get the cotangent: a scatter along the last dimension.
struct TopK : Differentiable::ExternalModel<TopK, TopKOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto top = cast<TopKOp>(op);
    int64_t dim = top.getDim(), last = typeOf(top.getX()).getRank() - 1;
    if (top.getIndices() || top.getBlocks() != 1) {
      op->emitOpError("has no adjoint with indices or blocks");
      return {};
    }
    SmallVector<int64_t> swap(llvm::to_vector(llvm::seq<int64_t>(0, last + 1)));
    std::swap(swap[dim], swap[last]);
    auto swapped = [&](Value x) -> Value {
      return dim == last ? x : TransposeOp::create(b, op->getLoc(), x, swap);
    };
    SmallVector<int64_t> shape(typeOf(top.getX()).getShape());
    std::swap(shape[dim], shape[last]);
    auto type =
        RankedTensorType::get(shape, typeOf(top.getX()).getElementType());
    Value dx = ScatterAddOp::create(
        b, op->getLoc(), type, swapped(top.getPositions()), swapped(g[0]),
        b.getI64IntegerAttr(last), b.getI64IntegerAttr(last), OffsetAttr());
    return {swapped(dx)};
  }
};

struct ArgReduce : Differentiable::ExternalModel<ArgReduce, ArgReduceOp> {
  Cotangents vjp(Operation *, OpBuilder &, ValueRange) const {
    return {Value()};
  }
};
} // namespace

void adjoint::registerMovement(MLIRContext *context) {
  ReshapeOp::attachInterface<Reshape>(*context);
  WindowOp::attachInterface<Window>(*context);
  SliceOp::attachInterface<Slice>(*context);
  PadOp::attachInterface<Pad>(*context);
  ConcatOp::attachInterface<Concat>(*context);
  DynamicSliceOp::attachInterface<DynamicSlice>(*context);
  DynamicUpdateSliceOp::attachInterface<DynamicUpdateSlice>(*context);
  GatherOp::attachInterface<Gather>(*context);
  ScatterAddOp::attachInterface<ScatterAdd>(*context);
  TopKOp::attachInterface<TopK>(*context);
  ArgReduceOp::attachInterface<ArgReduce>(*context);
}
