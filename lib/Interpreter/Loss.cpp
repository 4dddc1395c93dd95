//===- Loss.cpp - evaluation of softmax and cross entropy -----------------===//

#include "Models.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

/// log(sum(exp(x))), shifted by the largest element so that nothing overflows.
static double logSumExp(ArrayRef<double> row) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double x : row)
    largest = combine<double>(largest, x, ReduceKind::Max);
  if (!std::isfinite(largest))
    return largest;
  double sum = 0;
  for (double x : row)
    sum += std::exp(x - largest);
  return largest + std::log(sum);
}

/// All dimensions but `dim`, then `dim`: the inverse brings it back.
static SmallVector<int64_t> toLast(int64_t rank, int64_t dim) {
  SmallVector<int64_t> permutation;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim)
      permutation.push_back(d);
  permutation.push_back(dim);
  return permutation;
}

static SmallVector<int64_t> inverse(ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> result(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation))
    result[from] = to;
  return result;
}

static EvalResult eval(SoftmaxOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (failed(expectKinds(op, in, "r")))
    return failure();
  SmallVector<int64_t> order = toLast(in[0].getRank(), op.getDim());
  Tensor x = interp::transpose(in[0], order);
  int64_t width = x.getShape().back();
  MutableArrayRef<double> data = x.writeFloats();
  for (size_t begin = 0; begin < data.size(); begin += width) {
    MutableArrayRef<double> row = data.slice(begin, width);
    double lse = logSumExp(row);
    for (double &value : row)
      value = std::exp(value - lse);
  }
  return one(interp::transpose(x, inverse(order)));
}

static EvalResult eval(CrossEntropyOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  if (failed(expectKinds(op, in, "ri")))
    return failure();
  ArrayRef<int64_t> rows = in[0].getShape().drop_back();
  if (failed(expectShape(op, in[1], rows, "labels")))
    return failure();
  int64_t vocabulary = in[0].getShape().back();
  double smoothing = op.getSmoothing().convertToDouble();
  Tensor loss = Tensor::floats(rows), lse = loss;
  MutableArrayRef<double> losses = loss.writeFloats(), lses = lse.writeFloats();
  for (auto [r, label] : llvm::enumerate(in[1].getInts())) {
    ArrayRef<double> logits =
        in[0].getFloats().slice(r * vocabulary, vocabulary);
    double target = label >= 0 && label < vocabulary ? logits[label] : 0;
    double sum = 0;
    for (double x : logits)
      sum += x;
    lses[r] = logSumExp(logits);
    losses[r] = lses[r] - (1 - smoothing) * target -
                smoothing / double(vocabulary) * sum;
  }
  return TensorVector{loss, lse};
}

static EvalResult eval(CrossEntropyGradOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  if (failed(expectKinds(op, in, "rirr")))
    return failure();
  if (in[0].getRank() == 0)
    return op.emitOpError("logits have rank 0");
  ArrayRef<int64_t> rows = in[0].getShape().drop_back();
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset) || failed(expectShape(op, in[1], rows, "labels")) ||
      failed(expectShape(op, in[2], rows, "lse")) ||
      failed(expectShape(op, in[3], rows, "dloss")))
    return failure();
  int64_t width = in[0].getShape().back();
  double smoothing = op.getSmoothing().convertToDouble();
  double uniform = smoothing / double(op.getVocabulary());
  Tensor dlogits = in[0];
  MutableArrayRef<double> out = dlogits.writeFloats();
  for (auto [r, label] : llvm::enumerate(in[1].getInts()))
    for (int64_t i = 0; i < width; ++i) {
      double target = *offset + i == label ? 1 - smoothing : 0;
      double &x = out[r * width + i];
      x = in[3].getFloats()[r] *
          (std::exp(x - in[2].getFloats()[r]) - target - uniform);
    }
  return one(dlogits);
}

} // namespace stretto

void interp::attachLoss(MLIRContext *context) {
  attachEvaluations<SoftmaxOp, CrossEntropyOp, CrossEntropyGradOp>(context);
}
