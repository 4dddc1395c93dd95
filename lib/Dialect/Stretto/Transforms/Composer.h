//===- Composer.h - primitive operations by name ----------------*- C++ -*-===//
//
// Private to the room: builds primitive operations with the names of the
// formula, for decompositions.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DIALECT_STRETTO_TRANSFORMS_COMPOSER_H
#define STRETTO_LIB_DIALECT_STRETTO_TRANSFORMS_COMPOSER_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"

namespace stretto::compose {

using namespace mlir;

inline llvm::ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Builds primitive operations with the names of the formula.
class Composer {
public:
  Composer(OpBuilder &builder, Operation *op, bool exact = false)
      : b(builder), loc(op->getLoc()), exact(exact) {}

  Value scalar(double value) {
    auto type = RankedTensorType::get({}, b.getF32Type());
    return mark(
        b.create<ConstantOp>(loc, type, b.getF64FloatAttr(value)).getResult());
  }
  /// A rank-0 constant of the element type of `like`.
  Value scalarLike(Value like, double value) {
    auto element = cast<RankedTensorType>(like.getType()).getElementType();
    return mark(b.create<ConstantOp>(loc, RankedTensorType::get({}, element),
                                     b.getF64FloatAttr(value))
                    .getResult());
  }
  Value splat(RankedTensorType type, double value) {
    return mark(
        b.create<ConstantOp>(loc, type, b.getF64FloatAttr(value)).getResult());
  }
  Value integer(int64_t value) {
    auto type = RankedTensorType::get({}, b.getI32Type());
    return mark(
        b.create<ConstantOp>(loc, type, b.getF64FloatAttr(value)).getResult());
  }

  template <typename OpT> Value unary(Value x) {
    return mark(b.create<OpT>(loc, bareType(x.getType()), x).getResult());
  }
  /// The higher-ranked operand gives the shape.
  template <typename OpT> Value binary(Value x, Value y) {
    Value wide = shapeOf(x).size() >= shapeOf(y).size() ? x : y;
    return mark(b.create<OpT>(loc, bareType(wide.getType()), x, y).getResult());
  }
  Value add(Value x, Value y) { return binary<AddOp>(x, y); }
  Value sub(Value x, Value y) { return binary<SubOp>(x, y); }
  Value mul(Value x, Value y) { return binary<MulOp>(x, y); }
  Value div(Value x, Value y) { return binary<DivOp>(x, y); }
  Value add(Value x, double y) { return add(x, scalar(y)); }
  Value mul(Value x, double y) { return mul(x, scalar(y)); }
  Value exp(Value x) { return unary<ExpOp>(x); }

  /// `x` in the element type `element`. `roundsParts`: see ConvertOp.
  Value convert(Value x, Type element, bool roundsParts = false) {
    auto from = cast<RankedTensorType>(x.getType());
    if (from.getElementType() == element)
      return x;
    return mark(ConvertOp::create(
        b, loc, RankedTensorType::get(from.getShape(), element), x,
        roundsParts));
  }
  /// In the type in which sums and statistics of such values are kept. Users
  /// convert for themselves: there is no wide copy in memory.
  Value widened(Value x) {
    Value wide = convert(x, statisticsType(elementOf(x)));
    return wide == x ? x : repeated(wide);
  }
  static Type elementOf(Value x) {
    return cast<RankedTensorType>(x.getType()).getElementType();
  }

  Value compare(ComparePredicate predicate, Value x, Value y) {
    Value wide = shapeOf(x).size() >= shapeOf(y).size() ? x : y;
    auto type = RankedTensorType::get(shapeOf(wide), b.getI1Type());
    auto attr = ComparePredicateAttr::get(b.getContext(), predicate);
    return mark(b.create<CompareOp>(loc, type, attr, x, y).getResult());
  }
  /// Shaped like the condition, or like the values where that is rank 0.
  Value select(Value condition, Value onTrue, Value onFalse) {
    Value wide = condition;
    for (Value value : {onTrue, onFalse})
      if (shapeOf(value).size() > shapeOf(wide).size())
        wide = value;
    auto element = cast<RankedTensorType>(onTrue.getType()).getElementType();
    auto type = RankedTensorType::get(shapeOf(wide), element);
    return mark(
        b.create<SelectOp>(loc, type, condition, onTrue, onFalse).getResult());
  }
  Value iota(Value like, int64_t dim, OffsetAttr offset = {}) {
    auto type = RankedTensorType::get(shapeOf(like), b.getI32Type());
    return mark(
        b.create<IotaOp>(loc, type, like, b.getI64IntegerAttr(dim), offset)
            .getResult());
  }

  Value reduce(ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
    auto from = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> kept;
    for (auto [dim, extent] : llvm::enumerate(from.getShape()))
      if (!llvm::is_contained(dims, int64_t(dim)))
        kept.push_back(extent);
    auto type = RankedTensorType::get(kept, from.getElementType());
    return mark(b.create<ReduceOp>(loc, type,
                                   ReduceKindAttr::get(b.getContext(), kind), x,
                                   b.getDenseI64ArrayAttr(dims), FloatAttr())
                    .getResult());
  }
  Value reduceDim(ReduceKind kind, Value x, int64_t dim) {
    return reduce(kind, x, {dim});
  }
  /// Over every dimension but the last.
  Value sumRows(Value x) {
    return reduce(
        ReduceKind::Sum, x,
        llvm::to_vector(llvm::seq<int64_t>(0, shapeOf(x).size() - 1)));
  }
  Value mean(Value x, int64_t dim) {
    Value sum = reduceDim(ReduceKind::Sum, x, dim);
    return mul(sum, 1.0 / double(shapeOf(x)[dim]));
  }

  /// Repeats `x`, which lacks dimension `dim` of `like`, along it.
  Value spread(Value x, Value like, int64_t dim) {
    SmallVector<int64_t> dims;
    for (int64_t d : llvm::seq<int64_t>(0, shapeOf(like).size()))
      if (d != dim)
        dims.push_back(d);
    auto element = cast<RankedTensorType>(x.getType()).getElementType();
    auto type = RankedTensorType::get(shapeOf(like), element);
    return mark(
        b.create<BroadcastOp>(loc, type, x, b.getDenseI64ArrayAttr(dims))
            .getResult());
  }
  Value transpose(Value x, ArrayRef<int64_t> permutation) {
    return mark(
        b.create<TransposeOp>(loc, x, b.getDenseI64ArrayAttr(permutation))
            .getResult());
  }
  /// Repeats the vector `x` so that it lies along dimension `dim` of `like`.
  Value along(Value x, Value like, int64_t dim) {
    auto element = cast<RankedTensorType>(x.getType()).getElementType();
    auto type = RankedTensorType::get(shapeOf(like), element);
    return mark(
        b.create<BroadcastOp>(loc, type, x, b.getDenseI64ArrayAttr({dim}))
            .getResult());
  }
  /// `size` elements of x along `dim`: see WindowOp.
  Value window(Value x, int64_t dim, int64_t size, int64_t start,
               int64_t stride = 1, int64_t dilation = 1) {
    auto from = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(from.getShape());
    shape[dim] = size;
    auto type = RankedTensorType::get(shape, from.getElementType());
    return mark(b.create<WindowOp>(loc, type, x, b.getI64IntegerAttr(dim),
                                   b.getI64IntegerAttr(start),
                                   b.getI64IntegerAttr(stride),
                                   b.getI64IntegerAttr(dilation), GroupAttr(),
                                   OffsetAttr(), StringAttr())
                    .getResult());
  }
  /// Element `index` of a short vector.
  Value element(Value vector, int64_t index) {
    Value here = repeated(
        compare(ComparePredicate::EQ, iota(vector, 0), integer(index)));
    Value masked = repeated(select(here, vector, scalar(0)));
    return repeated(reduceDim(ReduceKind::Sum, masked, 0));
  }
  /// Says that users may compute the value for themselves.
  Value repeated(Value value) {
    value.getDefiningOp()->setAttr(attr::repeat, b.getUnitAttr());
    return value;
  }

private:
  Value mark(Value value) {
    if (exact)
      value.getDefiningOp()->setAttr(attr::exact, b.getUnitAttr());
    return value;
  }

  OpBuilder &b;
  Location loc;
  bool exact;
};

/// Compositions of slice, pad, concat, arg_reduce, top_k and reductions with an
/// initial value.
void attachMovement(MLIRContext *context);
/// Compositions of attention and its adjoint on shards of keys or head_dim.
void attachAttention(MLIRContext *context);

} // namespace stretto::compose

#endif // STRETTO_LIB_DIALECT_STRETTO_TRANSFORMS_COMPOSER_H
