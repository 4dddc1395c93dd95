//===- Random.cpp - evaluation of dropout ---------------------------------===//

#include "stretto/Runtime/Random.h"
#include "Models.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

/// seed, step, instance: a kernel's dropout names them before its offsets.
static constexpr unsigned numKeyScalars = 3;

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
  if (sampleDim && (*sampleDim < 0 || *sampleDim >= x.getRank()))
    return op.emitOpError("sample dimension ")
           << *sampleDim << " is outside rank " << x.getRank();
  int64_t samples = sampleDim ? extents[*sampleDim] : 0;
  if (sampleDim)
    extents[*sampleDim] = 1;
  result.stride = rowMajorStrides(extents);
  if (sampleDim)
    result.stride[*sampleDim] = numElements(extents);
  result.begin.assign(x.getRank(), 0);
  ArrayAttr offsets = op.getOffsetsAttr();
  if (!offsets && !op->hasAttr("stretto.scalars")) {
    if (sampleDim)
      result.begin[*sampleDim] = context.microbatch * samples;
    return result;
  }
  for (unsigned dim = 0; dim < result.begin.size(); ++dim) {
    Attribute attribute =
        offsets && dim < offsets.size() ? offsets[dim] : Attribute();
    FailureOr<int64_t> offset =
        context.offset(op, attribute, numKeyScalars + dim);
    if (failed(offset))
      return failure();
    result.begin[dim] = *offset;
  }
  return result;
}

/// In a kernel, of the three scalars that the launch passes.
static FailureOr<uint64_t> randomKey(DropoutOp op, const EvalContext &context) {
  if (!op->hasAttr("stretto.scalars"))
    return context.randomKey();
  uint64_t parts[numKeyScalars];
  for (unsigned i = 0; i < numKeyScalars; ++i) {
    FailureOr<std::optional<int64_t>> part = context.launchScalar(op, i);
    if (failed(part))
      return failure();
    parts[i] = uint64_t(**part);
  }
  return random::key(parts[0], parts[1], parts[2]);
}

static EvalResult eval(DropoutOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  if (failed(expectKinds(op, in, "r")))
    return failure();
  double p = op.getP().convertToDouble();
  if (p == 0)
    return one(in[0]);
  FailureOr<LogicalIndex> logical = logicalIndex(op, in[0], context);
  FailureOr<uint64_t> derivedKey = randomKey(op, context);
  if (failed(logical) || failed(derivedKey))
    return failure();
  uint32_t threshold = random::dropoutThreshold(p);
  uint64_t key = *derivedKey, opId = op.getOpId();
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
