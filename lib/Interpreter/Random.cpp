//===- Random.cpp - evaluation of dropout ---------------------------------===//

#include "stretto/Runtime/Random.h"
#include "Models.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

namespace {
/// Where the elements of a shard lie in the logical tensor: index i of
/// dimension d counts (begin[d] + i) * stride[d]. Samples are the most major
/// dimension, whichever it is, because their number has no end.
struct LogicalIndex {
  SmallVector<int64_t> begin, stride;

  uint64_t operator()(ArrayRef<int64_t> index) const {
    int64_t element = 0;
    for (size_t d = 0; d < index.size(); ++d)
      element += (begin[d] + index[d]) * stride[d];
    return uint64_t(element);
  }
};
} // namespace

static FailureOr<LogicalIndex> logicalIndex(DropoutOp op, const Tensor &x,
                                            const EvalContext &context) {
  LogicalIndex result;
  SmallVector<int64_t> extents(x.getShape());
  if (std::optional<ArrayRef<int64_t>> logical = op.getExtents())
    extents.assign(logical->begin(), logical->end());
  if (int64_t(extents.size()) != x.getRank())
    return op.emitOpError("has ")
           << extents.size() << " extents for rank " << x.getRank();
  std::optional<int64_t> sampleDim = op.getSampleDim();
  int64_t samples = sampleDim ? extents[*sampleDim] : 0;
  if (sampleDim)
    extents[*sampleDim] = 1;
  result.stride = rowMajorStrides(extents);
  if (sampleDim)
    result.stride[*sampleDim] = numElements(extents);
  result.begin.assign(x.getRank(), 0);
  if (!op.getOffsets()) {
    if (sampleDim)
      result.begin[*sampleDim] = context.microbatch * samples;
    return result;
  }
  for (auto [dim, attribute] : llvm::enumerate(*op.getOffsets())) {
    FailureOr<int64_t> offset = context.offset(op, attribute);
    if (failed(offset))
      return failure();
    result.begin[dim] = *offset;
  }
  return result;
}

static EvalResult eval(DropoutOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<LogicalIndex> logical = logicalIndex(op, in[0], context);
  if (failed(logical))
    return failure();
  double p = op.getP().convertToDouble();
  uint32_t threshold = random::dropoutThreshold(p);
  uint64_t key = context.randomKey(), opId = op.getOpId();
  Tensor result = in[0];
  MutableArrayRef<double> out = result.writeFloats();
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    bool keep = random::bits24(key, (*logical)(index), opId) >= threshold;
    out[i] = keep ? out[i] / (1 - p) : 0;
  });
  return one(result);
}

} // namespace stretto

void interp::attachRandom(MLIRContext *context) {
  attachEvaluations<DropoutOp>(context);
}
