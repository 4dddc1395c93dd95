//===- Movement.cpp - evaluation of what moves elements -------------------===//

#include "Models.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

/// How position i along a dimension of the result reads the operand.
struct AffineMap1D {
  int64_t start, stride, dilation;

  /// The operand's position, or -1 where there is none in [0, extent).
  int64_t source(int64_t i, int64_t extent) const {
    int64_t at = start + stride * i;
    bool inside = at >= 0 && at % dilation == 0 && at / dilation < extent;
    return inside ? at / dilation : -1;
  }
};

/// `x` mapped along one dimension to `size` positions; `fill` where the map
/// leaves it.
template <typename T>
static Tensor mapDim(const Tensor &x, int64_t dim, int64_t size,
                     AffineMap1D map, T fill) {
  SmallVector<int64_t> shape(x.getShape());
  shape[dim] = size;
  SmallVector<int64_t> strides = rowMajorStrides(x.getShape());
  std::vector<T> out(numElements(shape), fill);
  ArrayRef<T> data = x.get<T>();
  forEachIndex(shape, [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t at = map.source(index[dim], x.getShape()[dim]);
    if (at < 0)
      return;
    int64_t from = at * strides[dim];
    for (auto [d, coordinate] : llvm::enumerate(index))
      from += int64_t(d) == dim ? 0 : coordinate * strides[d];
    out[i] = data[from];
  });
  return Tensor::of(shape, std::move(out));
}

static Tensor mapDim(const Tensor &x, int64_t dim, int64_t size,
                     AffineMap1D map, double fill = 0) {
  return x.isFloat() ? mapDim<double>(x, dim, size, map, fill)
                     : mapDim<int64_t>(x, dim, size, map, int64_t(fill));
}

static EvalResult eval(ReshapeOp op, ArrayRef<Tensor> in, const EvalContext &) {
  RankedTensorType type = op.getResult().getType();
  if (!type.hasStaticShape() ||
      numElements(type.getShape()) != in[0].getNumElements())
    return op.emitOpError("of ")
           << in[0].getNumElements() << " elements to " << type;
  return one(in[0].reshaped(type.getShape()));
}

static EvalResult eval(SliceOp op, ArrayRef<Tensor> in, const EvalContext &) {
  Tensor x = in[0];
  for (auto [dim, start, limit, stride] : llvm::zip(
           op.getDims(), op.getStarts(), op.getLimits(), op.getStrides())) {
    if (limit > x.getShape()[dim])
      return op.emitOpError("reaches ")
             << limit << " of an extent of " << x.getShape()[dim];
    x = mapDim(x, dim, (limit - start + stride - 1) / stride,
               {start, stride, 1});
  }
  return one(x);
}

static EvalResult eval(PadOp op, ArrayRef<Tensor> in, const EvalContext &) {
  Tensor x = in[0];
  double value = op.getValue().convertToDouble();
  for (auto [dim, low, high, interior] :
       llvm::zip(op.getDims(), op.getLow(), op.getHigh(), op.getInterior())) {
    int64_t extent = x.getShape()[dim];
    int64_t size =
        low + extent + std::max<int64_t>(extent - 1, 0) * interior + high;
    x = mapDim(x, dim, std::max<int64_t>(size, 0), {-low, 1, interior + 1},
               value);
  }
  return one(x);
}

static EvalResult eval(ConcatOp op, ArrayRef<Tensor> in, const EvalContext &) {
  return one(concat(in, op.getDim()));
}

//===----------------------------------------------------------------------===//
// window
//===----------------------------------------------------------------------===//

static EvalResult eval(WindowOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  RankedTensorType type = op.getResult().getType();
  int64_t dim = op.getDim();
  if (type.isDynamicDim(dim))
    return op.emitOpError("has no static extent along dimension ") << dim;
  return one(mapDim(in[0], dim, type.getDimSize(dim),
                    {int64_t(op.getStart()) + *offset, int64_t(op.getStride()),
                     int64_t(op.getDilation())}));
}

namespace {
/// Over a group: the members' operands are one, and so are their results.
struct HaloModel : EvaluableCollective::ExternalModel<HaloModel, WindowOp> {
  GroupAttr getEvaluationGroup(Operation *op) const {
    return cast<WindowOp>(op).getGroupAttr();
  }
  TensorVector evaluateGroup(Operation *op, ArrayRef<Tensor> members) const {
    auto window = cast<WindowOp>(op);
    int64_t dim = window.getDim();
    int64_t size = window.getResult().getType().getDimSize(dim);
    Tensor whole = concat(members, dim);
    TensorVector results;
    for (size_t member = 0; member < members.size(); ++member) {
      int64_t first = int64_t(window.getStart()) +
                      int64_t(window.getStride()) * size * int64_t(member);
      results.push_back(mapDim(
          whole, dim, size,
          {first, int64_t(window.getStride()), int64_t(window.getDilation())}));
    }
    return results;
  }
};
} // namespace

} // namespace stretto

void interp::attachMovement(MLIRContext *context) {
  attachEvaluations<ReshapeOp, SliceOp, PadOp, ConcatOp, WindowOp>(context);
  WindowOp::attachInterface<HaloModel>(*context);
}
