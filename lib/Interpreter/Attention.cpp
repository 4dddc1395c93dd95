//===- Attention.cpp - evaluation of attention and its adjoint ------------===//
//
// Straight from the definition: the scores of one head are stored, turned into
// probabilities, dropped and multiplied with the values. Masks and dropout go
// by global positions.
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "stretto/Runtime/Random.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

namespace {
/// Extents and the random key of one attention operation on one rank.
struct Attention {
  int64_t batch = 0, queries = 0, heads = 0, width = 0, keys = 0, kvHeads = 0;
  double scale = 1, p = 0;
  bool causal = false;
  uint64_t key = 0, opId = 0, firstSample = 0, firstHead = 0, globalHeads = 0;
  int64_t firstQuery = 0, firstKey = 0, allQueries = 0, allKeys = 0;

  int64_t query(int64_t b, int64_t i, int64_t h) const {
    return ((b * queries + i) * heads + h) * width;
  }
  int64_t keyOf(int64_t b, int64_t j, int64_t h) const {
    return ((b * keys + j) * kvHeads + h / (heads / kvHeads)) * width;
  }
  int64_t row(int64_t b, int64_t h, int64_t i) const {
    return (b * heads + h) * queries + i;
  }
  /// Past the end of all queries.
  bool isPadding(int64_t i) const { return firstQuery + i >= allQueries; }
  bool visible(int64_t i, int64_t j) const {
    int64_t query = firstQuery + i, key = firstKey + j;
    if (query >= allQueries || key >= allKeys)
      return false;
    return !causal || key <= query + (allKeys - allQueries);
  }
  /// What dropout multiplies probability (b, h, i, j) with: 0 or 1 / (1 - p).
  double kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (p == 0)
      return 1;
    uint64_t element = (firstSample + b) * globalHeads + firstHead + h;
    element = (element * allQueries + firstQuery + i) * allKeys + firstKey + j;
    bool keep =
        random::bits24(key, element, opId) >= random::dropoutThreshold(p);
    return keep ? 1 / (1 - p) : 0;
  }
};
} // namespace

template <typename OpT>
static FailureOr<Attention> describe(OpT op, ArrayRef<Tensor> in,
                                     const EvalContext &context) {
  ArrayRef<int64_t> q = in[0].getShape(), k = in[1].getShape();
  if (failed(expectKinds(op, in, std::string(in.size(), 'r'))))
    return failure();
  if (q.size() != 4 || k.size() != 4)
    return op.emitOpError("needs q and k of rank 4");
  Attention a;
  a.batch = q[0], a.queries = q[1], a.heads = q[2], a.width = q[3];
  a.keys = k[1], a.kvHeads = k[2];
  if (failed(expectShape(op, in[1], {q[0], k[1], k[2], q[3]}, "k")) ||
      failed(expectShape(op, in[2], k, "v")))
    return failure();
  if (a.kvHeads == 0 || a.heads % a.kvHeads != 0)
    return op.emitOpError() << a.heads << " heads do not group over "
                            << a.kvHeads << " kv heads";
  a.scale = op.getScale().convertToDouble();
  a.p = op.getP().convertToDouble();
  a.causal = op.getCausal();
  a.key = context.randomKey();
  a.opId = op.getOpId();
  a.globalHeads = op.getHeadsGlobal().value_or(a.heads);
  a.allQueries = op.getQueries().value_or(a.queries);
  a.allKeys = op.getKeys().value_or(a.keys);
  FailureOr<int64_t> sample = context.offset(op, op.getBatchOffsetAttr()),
                     head = context.offset(op, op.getHeadOffsetAttr()),
                     query = context.offset(op, op.getQueryOffsetAttr()),
                     key = context.offset(op, op.getKeyOffsetAttr());
  if (failed(sample) || failed(head) || failed(query) || failed(key))
    return failure();
  a.firstHead = *head;
  a.firstSample = *sample;
  a.firstQuery = *query;
  a.firstKey = *key;
  if (!op.getBatchOffsetAttr())
    a.firstSample = context.microbatch * op.getSamples().value_or(a.batch);
  return a;
}

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// y += factor * x.
static void accumulate(double factor, const double *x, double *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    y[i] += factor * x[i];
}

/// Scaled scores of one query against all keys, -inf where masked.
static std::vector<double> scores(const Attention &a, const Tensor &q,
                                  const Tensor &k, int64_t b, int64_t h,
                                  int64_t i) {
  std::vector<double> row(a.keys, -std::numeric_limits<double>::infinity());
  for (int64_t j = 0; j < a.keys; ++j)
    if (a.visible(i, j))
      row[j] = a.scale * dot(&q.getFloats()[a.query(b, i, h)],
                             &k.getFloats()[a.keyOf(b, j, h)], a.width);
  return row;
}

static double logSumExp(ArrayRef<double> row) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double x : row)
    largest = x > largest ? x : largest;
  if (std::isinf(largest) && largest < 0) // nothing visible, or NaN
    return llvm::any_of(row, [](double x) { return x != x; }) ? NAN : largest;
  double sum = 0;
  for (double x : row)
    sum += std::exp(x - largest);
  return largest + std::log(sum);
}

/// exp(score - lse); a query that sees nothing has no probabilities.
static double probability(double score, double lse) {
  return std::isinf(score) && score < 0 ? 0 : std::exp(score - lse);
}

/// Attention of one query to the keys [begin, end).
static void attend(const Attention &a, ArrayRef<Tensor> in, int64_t b,
                   int64_t h, int64_t i, int64_t begin, int64_t end,
                   double *out, double &lse) {
  std::vector<double> row = scores(a, in[0], in[1], b, h, i);
  lse = a.isPadding(i) ? 0 : logSumExp(ArrayRef(row).slice(begin, end - begin));
  for (int64_t j = begin; j < end; ++j)
    if (a.visible(i, j))
      accumulate(probability(row[j], lse) * a.kept(b, h, i, j),
                 &in[2].getFloats()[a.keyOf(b, j, h)], out, a.width);
}

/// The keys in blocks: one, or as many as the results have.
static EvalResult eval(AttentionOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<Attention> a = describe(op, in, context);
  if (failed(a))
    return failure();
  SmallVector<int64_t> outShape(in[0].getShape()),
      lseShape = {a->batch, a->heads, a->queries};
  int64_t blocks = op.getBlocks().value_or(1);
  int64_t length = (a->keys + blocks - 1) / blocks;
  Tensor rows = Tensor::floats(lseShape);
  if (op.getBlocks())
    for (auto *shape : {&outShape, &lseShape})
      shape->insert(shape->begin(), blocks);
  Tensor out = Tensor::floats(outShape), lse = Tensor::floats(lseShape);
  double *outs = out.writeFloats().data(), *lses = lse.writeFloats().data();
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t begin = std::min(block * length, a->keys),
            end = std::min(begin + length, a->keys);
    forEachIndex(rows.getShape(), [&](ArrayRef<int64_t> at, int64_t linear) {
      attend(*a, in, at[0], at[1], at[2], begin, end,
             outs + block * in[0].getNumElements() +
                 a->query(at[0], at[2], at[1]),
             lses[block * rows.getNumElements() + linear]);
    });
  }
  return TensorVector{out, lse};
}

/// With P = exp(S - lse), M the dropout multipliers and dP = M * (dout . v):
/// dv = (M P)^T dout, dS = P (dP - dout . out), dq = scale dS k, dk = scale
/// dS^T q.
static EvalResult eval(AttentionGradOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<Attention> a = describe(op, in, context);
  if (failed(a))
    return failure();
  if (failed(expectShape(op, in[3], in[0].getShape(), "out")) ||
      failed(expectShape(op, in[4], {a->batch, a->heads, a->queries}, "lse")) ||
      failed(expectShape(op, in[5], in[0].getShape(), "dout")))
    return failure();
  Tensor dq = Tensor::floats(in[0].getShape()),
         dk = Tensor::floats(in[1].getShape()),
         dv = Tensor::floats(in[2].getShape());
  double *dqs = dq.writeFloats().data(), *dks = dk.writeFloats().data(),
         *dvs = dv.writeFloats().data();
  const double *q = in[0].getFloats().data(), *k = in[1].getFloats().data(),
               *v = in[2].getFloats().data(), *out = in[3].getFloats().data(),
               *dout = in[5].getFloats().data();
  forEachIndex(in[4].getShape(), [&](ArrayRef<int64_t> at, int64_t linear) {
    int64_t b = at[0], h = at[1], i = at[2], row = a->query(b, i, h);
    std::vector<double> score = scores(*a, in[0], in[1], b, h, i);
    double inner = dot(dout + row, out + row, a->width);
    for (int64_t j = 0; j < a->keys; ++j) {
      if (!a->visible(i, j))
        continue;
      int64_t column = a->keyOf(b, j, h);
      double p = probability(score[j], in[4].getFloats()[linear]);
      double m = a->kept(b, h, i, j);
      double dp = m * dot(dout + row, v + column, a->width);
      double ds = a->scale * p * (dp - inner);
      accumulate(m * p, dout + row, dvs + column, a->width);
      accumulate(ds, k + column, dqs + row, a->width);
      accumulate(ds, q + row, dks + column, a->width);
    }
  });
  return TensorVector{dq, dk, dv};
}

} // namespace stretto

void interp::attachAttention(MLIRContext *context) {
  attachEvaluations<AttentionOp, AttentionGradOp>(context);
}
