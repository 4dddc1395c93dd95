//===- DecomposeAttention.cpp - attention on shards of keys or width ------===//
//
// Where the keys are sharded every shard is attended to by itself, and the
// results are weighed with what the shard's scores are of all (the forward of
// ring attention and of flash decoding: Liu et al., arXiv 2310.01889; Dao et
// al., 2023). Where head_dim is sharded the scores are sums over shards; the
// softmax between the two products is spelled out.
//
//===----------------------------------------------------------------------===//

#include "Composer.h"
#include <limits>
#include <numeric>

using namespace mlir;
using namespace stretto;
using namespace stretto::compose;

namespace {

/// Stands for "no score": below all scores, and its difference to itself is 0.
constexpr double lowest = -1e30;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Attributes that the operation's definition names.
SmallVector<NamedAttribute> ownAttributes(AttentionOp op) {
  return llvm::filter_to_vector(op->getAttrs(), [](NamedAttribute entry) {
    return llvm::is_contained(AttentionOp::getAttributeNames(),
                              entry.getName().getValue());
  });
}

/// With (out_c, lse_c) of block c of the keys:
/// lse = log sum_c exp(lse_c), out = sum_c exp(lse_c - lse) out_c. A query that
/// sees no key at all has a sum of 0; else the largest lse_c gives a sum of at
/// least 1.
SmallVector<Value> overBlocks(AttentionOp op, OpBuilder &b, int64_t blocks) {
  Composer c(b, op);
  SmallVector<NamedAttribute> attributes = ownAttributes(op);
  attributes.emplace_back(op.getBlocksAttrName(), b.getI64IntegerAttr(blocks));
  auto parts = AttentionOp::create(b, op.getLoc(), op->getOperands(),
                                   ArrayRef(attributes));
  Value lses = parts.getLse(), outs = c.widened(parts.getOut());
  Value max = c.reduceDim(ReduceKind::Max, lses, 0);
  max = c.binary<MaximumOp>(max, c.scalarLike(max, lowest));
  Value weights = c.exp(c.sub(lses, c.spread(max, lses, 0)));
  Value sum = c.reduceDim(ReduceKind::Sum, weights, 0);
  Value lse = c.add(max, c.unary<LogOp>(sum));
  Value one = c.scalarLike(sum, 1);
  Value inverse = c.div(one, c.binary<MaximumOp>(sum, one));
  weights = c.mul(weights, c.spread(inverse, weights, 0));
  weights = c.transpose(weights, {0, 1, 3, 2}); // as out: heads after queries
  Value out =
      c.reduceDim(ReduceKind::Sum, c.mul(outs, c.spread(weights, outs, 4)), 0);
  return {c.convert(out, c.elementOf(op.getOut()), /*roundsParts=*/true), lse};
}

//===----------------------------------------------------------------------===//
// head_dim
//===----------------------------------------------------------------------===//

/// Attention in primitive operations. Query heads are [group, within] where
/// several share a key/value head; scores are [batch, heads, q_len, kv_len].
class Scores {
public:
  template <typename OpT>
  Scores(OpT op, OpBuilder &b)
      : b(b), loc(op.getLoc()), c(b, op), q(shapeOf(op.getQ())),
        k(shapeOf(op.getK())), isGrouped(q[2] != k[2]), causal(op.getCausal()),
        scale(op.getScale().convertToDouble()), p(op.getPAttr()),
        opId(op.getOpIdAttr()) {}

  /// [batch, q_len, heads, ...] with the heads in two.
  Value split(Value x, int64_t dim) {
    if (!isGrouped)
      return x;
    SmallVector<int64_t> shape(shapeOf(x));
    shape[dim] = k[2];
    shape.insert(shape.begin() + dim + 1, q[2] / k[2]);
    return reshaped(x, shape);
  }
  Value merge(Value x, int64_t dim) {
    if (!isGrouped)
      return x;
    SmallVector<int64_t> shape(shapeOf(x));
    shape[dim] *= shape[dim + 1];
    shape.erase(shape.begin() + dim + 1);
    return reshaped(x, shape);
  }

  /// Rows of the queries (or of their gradients) times rows of the keys: scores
  /// are statistics.
  Value product(Value queries, Value keys) {
    Value scores = einsum(isGrouped ? "b q h w d, b k h d -> b h w q k"
                                    : "b q h d, b k h d -> b h q k",
                          queries, keys);
    auto type = cast<RankedTensorType>(scores.getType());
    scores.setType(RankedTensorType::get(
        type.getShape(), statisticsType(type.getElementType())));
    return scores;
  }
  /// Weighted sums of rows of the keys, one for each query.
  Value overKeys(Value weights, Value keys) {
    return einsum(isGrouped ? "b h w q k, b k h d -> b q h w d"
                            : "b h q k, b k h d -> b q h d",
                  c.convert(weights, c.elementOf(keys)), keys);
  }
  /// Weighted sums of rows of the queries, one for each key.
  Value overQueries(Value weights, Value queries) {
    return einsum(isGrouped ? "b h w q k, b q h w d -> b k h d"
                            : "b h q k, b q h d -> b k h d",
                  c.convert(weights, c.elementOf(queries)), queries);
  }

  Value scaled(Value x) { return c.mul(x, scale); }

  /// `x` where the query sees the key, else `other`.
  Value masked(Value x, double other) {
    if (!causal)
      return x;
    if (!visible) {
      Value last = c.iota(x, keyDim() - 1);
      if (k[1] != q[1])
        last = c.add(last, c.integer(k[1] - q[1]));
      visible = c.compare(ComparePredicate::LE, c.iota(x, keyDim()), last);
    }
    return c.select(visible, x, c.scalarLike(x, other));
  }

  /// `x` where there is a query, else 0.
  Value withinQueries(Value x) {
    Value within = c.compare(ComparePredicate::LT, c.iota(x, keyDim() - 1),
                             c.integer(q[1]));
    return c.select(within, x, c.scalarLike(x, 0));
  }

  /// The masks are those of the fused operation: the logical element of
  /// [batch, heads, q_len, kv_len] is the same number.
  Value dropped(Value x) {
    if (p.getValue().isZero())
      return x;
    return DropoutOp::create(b, loc, x, p, opId,
                             b.getDenseI64ArrayAttr(shapeOf(x)),
                             b.getI64IntegerAttr(0), ArrayAttr());
  }

  /// A number for each query, along the keys of `like`.
  Value alongKeys(Value x, Value like) { return c.spread(x, like, keyDim()); }
  int64_t keyDim() const { return isGrouped ? 4 : 3; }
  Composer &compose() { return c; }

  /// [batch, q_len, heads] as [batch, heads, q_len].
  Value rows(Value x) {
    if (isGrouped)
      return c.transpose(x, {0, 2, 3, 1});
    return c.transpose(x, {0, 2, 1});
  }

private:
  Value reshaped(Value x, ArrayRef<int64_t> shape) {
    auto element = cast<RankedTensorType>(x.getType()).getElementType();
    return ReshapeOp::create(b, loc, RankedTensorType::get(shape, element), x);
  }
  Value einsum(StringRef spec, Value lhs, Value rhs) {
    return EinsumOp::create(b, loc, b.getStringAttr(spec), lhs, rhs);
  }

  OpBuilder &b;
  Location loc;
  Composer c;
  ArrayRef<int64_t> q, k;
  bool isGrouped, causal;
  double scale;
  FloatAttr p;
  IntegerAttr opId;
  Value visible;
};

SmallVector<Value> throughScores(AttentionOp op, OpBuilder &b) {
  Scores s(op, b);
  Composer &c = s.compose();
  Value scores = s.scaled(s.product(s.split(op.getQ(), 2), op.getK()));
  scores = s.masked(scores, -std::numeric_limits<double>::infinity());
  Value max = c.reduceDim(ReduceKind::Max, scores, s.keyDim());
  max = c.binary<MaximumOp>(max, c.scalarLike(max, lowest));
  Value e = c.exp(c.sub(scores, s.alongKeys(max, scores)));
  Value sum = c.reduceDim(ReduceKind::Sum, e, s.keyDim());
  Value lse = c.add(max, c.unary<LogOp>(sum));
  Value one = c.scalarLike(sum, 1);
  Value inverse = c.div(one, c.binary<MaximumOp>(sum, one));
  Value probabilities = s.dropped(c.mul(e, s.alongKeys(inverse, e)));
  Value out = s.overKeys(probabilities, op.getV());
  return {s.merge(out, 2), s.merge(lse, 1)};
}

/// As the formulas of the kernel. `padded`: queries past the end have no
/// probabilities, as lse need not be theirs.
SmallVector<Value> throughScores(AttentionGradOp op, OpBuilder &b,
                                 bool padded) {
  Scores s(op, b);
  Composer &c = s.compose();
  Value q = s.split(op.getQ(), 2), dout = s.split(op.getDout(), 2);
  Value scores = s.scaled(s.product(q, op.getK()));
  Value below = c.sub(scores, s.alongKeys(s.split(op.getLse(), 1), scores));
  Value p = c.exp(below);
  if (padded)
    p = s.withinQueries(p);
  p = s.masked(p, 0);
  Value dv = s.overQueries(s.dropped(p), dout);
  Value dp = s.dropped(s.product(dout, op.getV()));
  Value both = c.mul(c.widened(dout), c.widened(s.split(op.getOut(), 2)));
  Value delta =
      s.rows(c.reduceDim(ReduceKind::Sum, both, shapeOf(both).size() - 1));
  Value ds = s.scaled(c.mul(p, c.sub(dp, s.alongKeys(delta, dp))));
  return {s.merge(s.overKeys(ds, op.getK()), 2), s.overQueries(ds, q), dv};
}

/// Are the scores, each summed over the shards, fewer than the elements that
/// would be gathered? (A sum sends twice what a gather does.)
template <typename OpT> bool scoresAreFewer(OpT op) {
  ArrayRef<int64_t> q = shapeOf(op.getQ());
  int64_t products = std::is_same_v<OpT, AttentionGradOp> ? 2 : 1;
  int64_t scores = products * q[0] * q[2] * q[1] * shapeOf(op.getK())[1];
  int64_t gathered = 0;
  for (Value operand : op->getOperands())
    if (shapeOf(operand).size() == 4)
      gathered += ShapedType::getNumElements(shapeOf(operand));
  return 2 * scores <= gathered;
}

/// Elements to move where queries and keys hold the same axes and the keys
/// stay: q is gathered, the sums of out scattered, those of two numbers for
/// each query taken everywhere.
int64_t elementsOfMovedQueries(AttentionOp op) {
  int64_t q = ShapedType::getNumElements(shapeOf(op.getQ()));
  return 2 * q + 4 * ShapedType::getNumElements(shapeOf(op.getLse()));
}

bool liesOnWidth(ArrayRef<DistAttr> operands) {
  return llvm::any_of(operands, [](DistAttr dist) {
    return dist && dist.getRank() == 4 && !dist.getDimAxes(3).empty();
  });
}

SmallVector<Value> decomposeSharded(AttentionOp op, OpBuilder &b,
                                    ArrayRef<DistAttr> operands) {
  if (op.getBlocks())
    return {};
  if (liesOnWidth(operands) && scoresAreFewer(op))
    return throughScores(op, b);
  // k and v may lie differently: either way blocks are whole on a rank.
  int64_t blocks = 1, gathered = 0;
  bool shareAxes = false;
  for (unsigned i : {1u, 2u}) {
    DistAttr queries = operands[0], keys = operands[i];
    if (!queries || !keys || keys.getDimAxes(1).empty())
      continue;
    shareAxes |= axesOverlap(queries.getFlatAxes(), keys.getDimAxes(1));
    gathered += ShapedType::getNumElements(shapeOf(op.getOperand(i)));
    blocks = std::lcm(blocks, keys.getNumShards(1));
  }
  if (blocks == 1 || (shareAxes && gathered <= elementsOfMovedQueries(op)))
    return {};
  return overBlocks(op, b, blocks);
}

SmallVector<Value> decomposeSharded(AttentionGradOp op, OpBuilder &b,
                                    ArrayRef<DistAttr> operands) {
  if (!liesOnWidth(operands) || !scoresAreFewer(op))
    return {};
  bool padded = llvm::any_of(operands, [](DistAttr dist) {
    return dist && dist.getPaddedExtents()[dist.getRank() == 4 ? 1 : 2] != 0;
  });
  return throughScores(op, b, padded);
}

template <typename OpT>
struct Model : Decomposable::ExternalModel<Model<OpT>, OpT> {
  SmallVector<Value> decompose(Operation *, OpBuilder &) const { return {}; }
  SmallVector<Value> decomposeSharded(Operation *op, OpBuilder &builder,
                                      ArrayRef<DistAttr> operands) const {
    return ::decomposeSharded(cast<OpT>(op), builder, operands);
  }
};

} // namespace

void compose::attachAttention(MLIRContext *context) {
  AttentionOp::attachInterface<Model<AttentionOp>>(*context);
  AttentionGradOp::attachInterface<Model<AttentionGradOp>>(*context);
}
