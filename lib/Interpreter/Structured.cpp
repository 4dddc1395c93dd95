//===- Structured.cpp - evaluation of contractions, reductions, shape -----===//

#include "Models.h"
#include "llvm/ADT/StringMap.h"

#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

//===----------------------------------------------------------------------===//
// einsum: both operands are brought to [batch, rows or columns, contracted],
// multiplied, and the product is brought to the order of the result.
//===----------------------------------------------------------------------===//

namespace {
using Labels = SmallVector<StringRef>;

struct Contraction {
  Labels batch, rows, columns, contracted;
  llvm::StringMap<int64_t> extents;

  int64_t count(const Labels &labels) const {
    int64_t product = 1;
    for (StringRef label : labels)
      product *= extents.lookup(label);
    return product;
  }
};
} // namespace

static LogicalResult addExtents(EinsumOp op, const Labels &labels,
                                const Tensor &tensor, Contraction &result) {
  for (auto [label, extent] : llvm::zip(labels, tensor.getShape())) {
    auto [entry, isNew] = result.extents.try_emplace(label, extent);
    if (!isNew && entry->second != extent)
      return op.emitOpError("label ") << label << " is both " << entry->second
                                      << " and " << extent << " here";
  }
  return success();
}

static Contraction classify(const EinsumOp::Labels &labels) {
  Contraction result;
  for (StringRef label : labels.lhs) {
    bool inRhs = llvm::is_contained(labels.rhs, label);
    bool kept = llvm::is_contained(labels.result, label);
    (inRhs ? (kept ? result.batch : result.contracted) : result.rows)
        .push_back(label);
  }
  for (StringRef label : labels.rhs)
    if (!llvm::is_contained(labels.lhs, label))
      result.columns.push_back(label);
  return result;
}

/// `tensor` with its dimensions in the order of the concatenated groups.
static Tensor arrange(const Tensor &tensor, ArrayRef<StringRef> labels,
                      std::initializer_list<const Labels *> groups) {
  SmallVector<int64_t> permutation;
  for (const Labels *group : groups)
    for (StringRef label : *group)
      permutation.push_back(llvm::find(labels, label) - labels.begin());
  return interp::transpose(tensor, permutation);
}

/// c[m, n] += a[m, k] * b[k, n], all dense.
static void multiplyInto(const double *a, const double *b, double *c, int64_t m,
                         int64_t n, int64_t k) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) {
      double factor = a[i * k + l];
      const double *row = b + l * n;
      double *out = c + i * n;
      for (int64_t j = 0; j < n; ++j)
        out[j] += factor * row[j];
    }
}

static EvalResult eval(EinsumOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (!in[0].isFloat())
    return op.emitOpError("needs floating-point operands");
  EinsumOp::Labels labels = op.getLabels();
  Contraction plan = classify(labels);
  if (failed(addExtents(op, labels.lhs, in[0], plan)) ||
      failed(addExtents(op, labels.rhs, in[1], plan)))
    return failure();
  int64_t batch = plan.count(plan.batch), m = plan.count(plan.rows),
          n = plan.count(plan.columns), k = plan.count(plan.contracted);
  Tensor a =
      arrange(in[0], labels.lhs, {&plan.batch, &plan.rows, &plan.contracted});
  Tensor b = arrange(in[1], labels.rhs,
                     {&plan.batch, &plan.contracted, &plan.columns});
  std::vector<double> product(batch * m * n, 0.0);
  for (int64_t i = 0; i < batch; ++i)
    multiplyInto(a.getFloats().data() + i * m * k,
                 b.getFloats().data() + i * k * n, product.data() + i * m * n,
                 m, n, k);
  Labels order;
  SmallVector<int64_t> shape;
  for (const Labels *group : {&plan.batch, &plan.rows, &plan.columns})
    for (StringRef label : *group) {
      order.push_back(label);
      shape.push_back(plan.extents.lookup(label));
    }
  return one(
      arrange(Tensor::of(shape, std::move(product)), order, {&labels.result}));
}

//===----------------------------------------------------------------------===//
// gemm
//===----------------------------------------------------------------------===//

/// Does every element that a strided walk touches lie within `size`?
static bool inRange(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides,
                    int64_t size) {
  int64_t first = 0, last = 0;
  for (auto [extent, stride] : llvm::zip(extents, strides))
    (stride < 0 ? first : last) += (extent - 1) * stride;
  return numElements(extents) == 0 || (first >= 0 && last < size);
}

/// C[i, j] = sum over k of A[i, k] B[k, j] (+ C[i, j]) for every batch index;
/// strides are (row, column) of each matrix.
static EvalResult eval(GemmOp op, ArrayRef<Tensor> in, const EvalContext &) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!type.hasStaticShape() || !in[0].isFloat())
    return op.emitOpError("needs a static shape and floating-point operands");
  size_t batch = op.getBatch().size();
  if (op.getABatch().size() != batch || op.getBBatch().size() != batch ||
      op.getCBatch().size() != batch || op.getAStrides().size() != 2 ||
      op.getBStrides().size() != 2 || op.getCStrides().size() != 2)
    return op.emitOpError("needs two strides per matrix and one per batch "
                          "dimension");
  if (op.getAcc() && in[2].getNumElements() != numElements(type.getShape()))
    return op.emitOpError("accumulates into another shape");
  SmallVector<int64_t> extents(op.getBatch());
  extents.append({int64_t(op.getM()), int64_t(op.getN()), int64_t(op.getK())});
  auto strides = [](ArrayRef<int64_t> batch, ArrayRef<int64_t> matrix) {
    SmallVector<int64_t> all(batch);
    all.append(matrix.begin(), matrix.end());
    return all;
  };
  auto a = strides(op.getABatch(),
                   {op.getAStrides()[0], 0, op.getAStrides()[1]}),
       b = strides(op.getBBatch(),
                   {0, op.getBStrides()[1], op.getBStrides()[0]}),
       c = strides(op.getCBatch(),
                   {op.getCStrides()[0], op.getCStrides()[1], 0});
  Tensor result = op.getAcc() ? in[2].reshaped(type.getShape())
                              : Tensor::floats(type.getShape());
  if (!inRange(extents, a, in[0].getNumElements()) ||
      !inRange(extents, b, in[1].getNumElements()) ||
      !inRange(extents, c, result.getNumElements()))
    return op.emitOpError("reaches outside a matrix");
  ArrayRef<double> as = in[0].getFloats(), bs = in[1].getFloats();
  MutableArrayRef<double> cs = result.writeFloats();
  int64_t k = extents.pop_back_val();
  forEachIndex(extents, [&](ArrayRef<int64_t> index, int64_t) {
    int64_t ai = 0, bi = 0, ci = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      ai += index[d] * a[d];
      bi += index[d] * b[d];
      ci += index[d] * c[d];
    }
    for (int64_t l = 0; l < k; ++l)
      cs[ci] += as[ai + l * a.back()] * bs[bi + l * b.back()];
  });
  return one(result);
}

//===----------------------------------------------------------------------===//
// reduce, broadcast, transpose, iota
//===----------------------------------------------------------------------===//

template <typename T> static T identity(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
  case ReduceKind::Sum:
    return 0;
  case ReduceKind::Prod:
  case ReduceKind::And:
    return 1;
  case ReduceKind::Or:
    return 0;
  case ReduceKind::Max:
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  case ReduceKind::Min:
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return 0;
}

template <typename T>
static Tensor reduce(const Tensor &x, ArrayRef<int64_t> dims, ReduceKind kind,
                     std::optional<double> init) {
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < x.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      shape.push_back(x.getShape()[d]);
  SmallVector<int64_t> kept = rowMajorStrides(shape), strides;
  for (int64_t d = 0, next = 0; d < x.getRank(); ++d)
    strides.push_back(llvm::is_contained(dims, d) ? 0 : kept[next++]);
  std::vector<T> out(numElements(shape), init ? T(*init) : identity<T>(kind));
  ArrayRef<T> data = x.get<T>();
  forEachIndex(x.getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    int64_t to = 0;
    for (auto [coordinate, stride] : llvm::zip(index, strides))
      to += coordinate * stride;
    out[to] = combine<T>(out[to], data[i], kind);
  });
  return Tensor::of(shape, std::move(out));
}

static EvalResult eval(ReduceOp op, ArrayRef<Tensor> in, const EvalContext &) {
  std::optional<double> init;
  if (op.getInit())
    init = op.getInit()->convertToDouble();
  return one(in[0].isFloat()
                 ? reduce<double>(in[0], op.getDims(), op.getKind(), init)
                 : reduce<int64_t>(in[0], op.getDims(), op.getKind(), init));
}

static EvalResult eval(BroadcastOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  RankedTensorType type = op.getResult().getType();
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<int64_t> strides(shape.size(), 0);
  SmallVector<int64_t> own = rowMajorStrides(in[0].getShape());
  for (auto [from, to] : llvm::enumerate(op.getDims())) {
    strides[to] = own[from];
    shape[to] = in[0].getShape()[from];
  }
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return op.emitOpError("repeats along a dimension of unknown extent");
  return one(gatherStrided(in[0], shape, strides));
}

static EvalResult eval(TransposeOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  return one(interp::transpose(in[0], op.getPermutation()));
}

static EvalResult eval(IotaOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  int64_t dim = op.getDim();
  Tensor result = Tensor::ints(in[0].getShape());
  MutableArrayRef<int64_t> out = result.writeInts();
  forEachIndex(in[0].getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    out[i] = *offset + index[dim];
  });
  return one(result);
}

//===----------------------------------------------------------------------===//
// embedding and its adjoint
//===----------------------------------------------------------------------===//

static EvalResult eval(EmbeddingOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  if (failed(expectKinds(op, in, "ri")))
    return failure();
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  ArrayRef<int64_t> features = in[0].getShape().drop_front();
  int64_t rows = in[0].getShape()[0], width = numElements(features);
  SmallVector<int64_t> shape(in[1].getShape());
  llvm::append_range(shape, features);
  Tensor result = Tensor::floats(shape);
  MutableArrayRef<double> out = result.writeFloats();
  for (auto [i, id] : llvm::enumerate(in[1].getInts())) {
    int64_t row = id - *offset;
    if (row >= 0 && row < rows)
      llvm::copy(in[0].getFloats().slice(row * width, width),
                 out.begin() + i * width);
  }
  return one(result);
}

static EvalResult eval(EmbeddingGradOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  if (failed(expectKinds(op, in, "ir")))
    return failure();
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  RankedTensorType type = op.getResult().getType();
  if (!type.hasStaticShape() || type.getRank() == 0)
    return op.emitOpError("has no static shape of rows here");
  SmallVector<int64_t> expected(in[0].getShape());
  llvm::append_range(expected, type.getShape().drop_front());
  if (failed(expectShape(op, in[1], expected, "dy")))
    return failure();
  int64_t rows = type.getShape()[0],
          width = numElements(type.getShape().drop_front());
  Tensor result = Tensor::floats(type.getShape());
  MutableArrayRef<double> out = result.writeFloats();
  ArrayRef<double> dy = in[1].getFloats();
  for (auto [i, id] : llvm::enumerate(in[0].getInts())) {
    int64_t row = id - *offset;
    if (row >= 0 && row < rows)
      for (int64_t f = 0; f < width; ++f)
        out[row * width + f] += dy[i * width + f];
  }
  return one(result);
}

//===----------------------------------------------------------------------===//
// Identities that say where values lie
//===----------------------------------------------------------------------===//

static EvalResult eval(ConstrainOp, ArrayRef<Tensor> in, const EvalContext &) {
  return one(in[0]);
}

static EvalResult eval(PropagationBarrierOp, ArrayRef<Tensor> in,
                       const EvalContext &) {
  return one(in[0]);
}

static EvalResult eval(ShardAlikeOp, ArrayRef<Tensor> in, const EvalContext &) {
  return TensorVector(in.begin(), in.end());
}

} // namespace stretto

void interp::attachStructured(MLIRContext *context) {
  attachEvaluations<EinsumOp, GemmOp, ReduceOp, BroadcastOp, TransposeOp,
                    IotaOp, EmbeddingOp, EmbeddingGradOp, ConstrainOp,
                    PropagationBarrierOp, ShardAlikeOp>(context);
}
