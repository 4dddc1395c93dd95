//===- Indexed.cpp - evaluation of what data indexes ----------------------===//

#include "Models.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

/// Runs `body` with a zero of the element type of `x`.
template <typename Body> static Tensor byKind(const Tensor &x, Body body) {
  return x.isFloat() ? body(double()) : body(int64_t());
}

/// Entry `index` of the offsets that localize wrote, 0 before.
static FailureOr<int64_t> offsetAt(Operation *op, ArrayAttr offsets,
                                   unsigned index, unsigned position,
                                   const EvalContext &context) {
  return context.offset(op, offsets ? offsets[index] : Attribute(), position);
}

//===----------------------------------------------------------------------===//
// dynamic_slice, dynamic_update_slice
//===----------------------------------------------------------------------===//

/// The first element of a box along a dimension: inside [0, extent - size].
static int64_t clampStart(int64_t start, int64_t extent, int64_t size) {
  return std::max<int64_t>(0, std::min(start, extent - size));
}

/// The box of `shape` that starts at `first`; zeros outside of `x`.
template <typename T>
static Tensor box(const Tensor &x, ArrayRef<int64_t> shape,
                  ArrayRef<int64_t> first) {
  SmallVector<int64_t> strides = rowMajorStrides(x.getShape());
  std::vector<T> out(numElements(shape), T(0));
  forEachIndex(shape, [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t from = 0;
    for (auto [d, coordinate] : llvm::enumerate(index)) {
      int64_t at = first[d] + coordinate;
      if (at < 0 || at >= x.getShape()[d])
        return;
      from += at * strides[d];
    }
    out[i] = x.get<T>()[from];
  });
  return Tensor::of(shape, std::move(out));
}

static EvalResult eval(DynamicSliceOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  RankedTensorType type = op.getResult().getType();
  SmallVector<int64_t> shape(in[0].getShape()), first(shape.size(), 0);
  unsigned count = op.getDims().size();
  for (auto [j, dim] : llvm::enumerate(op.getDims())) {
    if (type.isDynamicDim(dim))
      return op.emitOpError("has no static size along dimension ") << dim;
    shape[dim] = type.getDimSize(dim);
    int64_t extent =
        op.getExtents() ? (*op.getExtents())[j] : in[0].getShape()[dim];
    int64_t size = op.getSizes() ? (*op.getSizes())[j] : shape[dim];
    auto own = offsetAt(op, op.getOffsetsAttr(), j, j, context);
    auto wanted =
        offsetAt(op, op.getResultOffsetsAttr(), j, count + j, context);
    if (failed(own) || failed(wanted))
      return failure();
    first[dim] =
        clampStart(in[1 + j].getInts()[0], extent, size) + *wanted - *own;
  }
  return one(byKind(in[0], [&](auto zero) {
    return box<decltype(zero)>(in[0], shape, first);
  }));
}

static EvalResult eval(DynamicUpdateSliceOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  SmallVector<int64_t> first(in[0].getRank(), 0);
  for (auto [j, dim] : llvm::enumerate(op.getDims())) {
    int64_t extent =
        op.getExtents() ? (*op.getExtents())[j] : in[0].getShape()[dim];
    auto own = offsetAt(op, op.getOffsetsAttr(), j, j, context);
    if (failed(own))
      return failure();
    first[dim] =
        clampStart(in[2 + j].getInts()[0], extent, in[1].getShape()[dim]) -
        *own;
  }
  Tensor result = in[0];
  SmallVector<int64_t> strides = rowMajorStrides(result.getShape());
  return one(byKind(result, [&](auto zero) {
    using T = decltype(zero);
    MutableArrayRef<T> out = result.write<T>();
    ArrayRef<T> update = in[1].get<T>();
    forEachIndex(in[1].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
      int64_t to = 0;
      for (auto [d, coordinate] : llvm::enumerate(index)) {
        int64_t at = first[d] + coordinate;
        if (at < 0 || at >= result.getShape()[d])
          return;
        to += at * strides[d];
      }
      out[to] = update[i];
    });
    return result;
  }));
}

//===----------------------------------------------------------------------===//
// gather, scatter_add
//===----------------------------------------------------------------------===//

namespace {
/// Walks the elements of a gather's result with their places in `x`.
struct GatherWalk {
  ArrayRef<int64_t> xShape, indexShape;
  int64_t dim, batch;

  SmallVector<int64_t> resultShape() const {
    SmallVector<int64_t> shape(xShape.take_front(dim));
    llvm::append_range(shape, indexShape.drop_front(batch));
    llvm::append_range(shape, xShape.drop_front(dim + 1));
    return shape;
  }

  /// Calls `body(element of the result, element of x)` where the index, less
  /// `offset`, is inside.
  void run(ArrayRef<int64_t> indices, int64_t offset,
           function_ref<void(int64_t, int64_t)> body) const {
    SmallVector<int64_t> xStrides = rowMajorStrides(xShape),
                         indexStrides = rowMajorStrides(indexShape);
    int64_t which = indexShape.size() - batch;
    forEachIndex(resultShape(), [&](ArrayRef<int64_t> index, int64_t i) {
      int64_t entry = 0, at = 0;
      for (int64_t d = 0; d < dim; ++d) {
        at += index[d] * xStrides[d];
        entry += d < batch ? index[d] * indexStrides[d] : 0;
      }
      for (int64_t d = 0; d < which; ++d)
        entry += index[dim + d] * indexStrides[batch + d];
      for (int64_t d = dim + 1; d < int64_t(xShape.size()); ++d)
        at += index[d - 1 + which] * xStrides[d];
      int64_t row = indices[entry] - offset;
      if (row >= 0 && row < xShape[dim])
        body(i, at + row * xStrides[dim]);
    });
  }
};
} // namespace

static EvalResult eval(GatherOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  GatherWalk walk{in[0].getShape(), in[1].getShape(), int64_t(op.getDim()),
                  int64_t(op.getBatchDims())};
  return one(byKind(in[0], [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> out(numElements(walk.resultShape()), T(0));
    walk.run(in[1].getInts(), *offset,
             [&](int64_t to, int64_t from) { out[to] = in[0].get<T>()[from]; });
    return Tensor::of(walk.resultShape(), std::move(out));
  }));
}

static EvalResult eval(ScatterAddOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  RankedTensorType type = op.getResult().getType();
  if (failed(offset))
    return failure();
  if (!type.hasStaticShape())
    return op.emitOpError("has no static shape here");
  GatherWalk walk{type.getShape(), in[0].getShape(), int64_t(op.getDim()),
                  int64_t(op.getBatchDims())};
  if (failed(expectShape(op, in[1], walk.resultShape(), "updates")))
    return failure();
  return one(byKind(in[1], [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> out(numElements(type.getShape()), T(0));
    walk.run(in[0].getInts(), *offset, [&](int64_t from, int64_t to) {
      out[to] += in[1].get<T>()[from];
    });
    return Tensor::of(type.getShape(), std::move(out));
  }));
}

//===----------------------------------------------------------------------===//
// top_k, arg_reduce
//===----------------------------------------------------------------------===//

namespace {
/// An element with the number it is called by.
template <typename T> struct Candidate {
  T value;
  int64_t index;

  /// NaN before numbers, larger before smaller, then lower index.
  bool before(const Candidate &other) const {
    bool nan = value != value, otherNan = other.value != other.value;
    if (nan != otherNan)
      return nan;
    if (!nan && value != other.value)
      return value > other.value;
    return index < other.index;
  }
};

/// The lines of a tensor along one dimension.
struct Lines {
  Lines(ArrayRef<int64_t> shape, int64_t dim) {
    inner = numElements(shape.drop_front(dim + 1));
    outer = numElements(shape.take_front(dim));
    extent = shape[dim];
  }
  int64_t at(int64_t line, int64_t i) const {
    return (line / inner * extent + i) * inner + line % inner;
  }
  int64_t count() const { return outer * inner; }
  int64_t inner, outer, extent;
};
} // namespace

template <typename T> static T lowest() {
  using Limits = std::numeric_limits<T>;
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}

/// The first `k` candidates, filled up to that number.
template <typename T>
static void sortAndFill(std::vector<Candidate<T>> &line, size_t k) {
  llvm::sort(line, [](const Candidate<T> &a, const Candidate<T> &b) {
    return a.before(b);
  });
  line.resize(k, {lowest<T>(), std::numeric_limits<int32_t>::max()});
}

template <typename T>
static TensorVector topK(TopKOp op, ArrayRef<Tensor> in, int64_t offset) {
  int64_t dim = op.getDim(), k = op.getK(), blocks = op.getBlocks();
  Lines lines(in[0].getShape(), dim);
  int64_t limit = op.getExtent() ? int64_t(*op.getExtent()) : lines.extent;
  int64_t block = (lines.extent + blocks - 1) / blocks;
  SmallVector<int64_t> shape(in[0].getShape());
  shape[dim] = k * blocks;
  Lines to(shape, dim);
  std::vector<T> values(numElements(shape));
  std::vector<int64_t> positions(numElements(shape));
  for (int64_t line = 0; line < lines.count(); ++line)
    for (int64_t b = 0; b < blocks; ++b) {
      std::vector<Candidate<T>> found;
      int64_t end = std::min(lines.extent, (b + 1) * block);
      for (int64_t i = b * block; i < end && offset + i < limit; ++i) {
        int64_t from = lines.at(line, i);
        found.push_back({in[0].get<T>()[from],
                         in.size() > 1 ? in[1].getInts()[from] : offset + i});
      }
      sortAndFill(found, k);
      for (int64_t i = 0; i < k; ++i) {
        values[to.at(line, b * k + i)] = found[i].value;
        positions[to.at(line, b * k + i)] = found[i].index;
      }
    }
  return {Tensor::of(shape, std::move(values)),
          Tensor::of(shape, std::move(positions))};
}

static EvalResult eval(TopKOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  return in[0].isFloat() ? topK<double>(op, in, *offset)
                         : topK<int64_t>(op, in, *offset);
}

template <typename T> static Tensor argReduce(ArgReduceOp op, const Tensor &x) {
  Lines lines(x.getShape(), op.getDim());
  SmallVector<int64_t> shape(x.getShape());
  shape.erase(shape.begin() + op.getDim());
  std::vector<int64_t> out(numElements(shape));
  bool largest = op.getKind() == ReduceKind::Max;
  for (int64_t line = 0; line < lines.count(); ++line) {
    Candidate<T> best{x.get<T>()[lines.at(line, 0)], 0};
    for (int64_t i = 1; i < lines.extent; ++i) {
      Candidate<T> next{x.get<T>()[lines.at(line, i)], i};
      bool isNan = next.value != next.value, wasNan = best.value != best.value;
      bool better = largest ? next.value > best.value : next.value < best.value;
      if (!wasNan && (isNan || better))
        best = next;
    }
    out[line] = best.index;
  }
  return Tensor::of(shape, std::move(out));
}

static EvalResult eval(ArgReduceOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  return one(in[0].isFloat() ? argReduce<double>(op, in[0])
                             : argReduce<int64_t>(op, in[0]));
}

} // namespace stretto

void interp::attachIndexed(MLIRContext *context) {
  attachEvaluations<DynamicSliceOp, DynamicUpdateSliceOp, GatherOp,
                    ScatterAddOp, TopKOp, ArgReduceOp>(context);
}
