//===- Decompose.cpp - fused operations as compositions -------------------===//

#include "stretto/Dialect/Stretto/Transforms/Decompose.h"

#include "Composer.h"
#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::compose;

namespace {

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

SmallVector<Value> decompose(SiluOp op, OpBuilder &b) {
  Composer c(b, op);
  return {c.mul(op.getX(), c.unary<SigmoidOp>(op.getX()))};
}

SmallVector<Value> decompose(GeluOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX(), inner;
  if (op.getTanh()) {
    Value cubic = c.add(c.mul(c.mul(x, x), 0.044715), 1.0);
    inner = c.unary<TanhOp>(c.mul(c.mul(x, cubic), std::sqrt(2.0 / M_PI)));
  } else {
    inner = c.unary<ErfOp>(c.mul(x, std::sqrt(0.5)));
  }
  return {c.mul(c.mul(x, 0.5), c.add(inner, 1.0))};
}

SmallVector<Value> decompose(SoftmaxOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  int64_t dim = op.getDim();
  Value max = c.reduceDim(ReduceKind::Max, x, dim);
  Value e = c.exp(c.sub(x, c.spread(max, x, dim)));
  Value inverse = c.div(c.scalar(1), c.reduceDim(ReduceKind::Sum, e, dim));
  return {c.mul(e, c.spread(inverse, x, dim))};
}

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// x minus its mean, and 1 / standard deviation per row.
std::pair<Value, Value> center(Composer &c, Value x, double eps) {
  int64_t last = shapeOf(x).size() - 1;
  Value centered = c.sub(x, c.spread(c.mean(x, last), x, last));
  Value variance = c.mean(c.mul(centered, centered), last);
  return {centered, c.unary<RsqrtOp>(c.add(variance, eps))};
}

/// 1 / root mean square per row.
Value inverseRms(Composer &c, Value x, double eps) {
  Value square = c.mean(c.mul(x, x), shapeOf(x).size() - 1);
  return c.unary<RsqrtOp>(c.add(square, eps));
}

SmallVector<Value> decompose(LayerNormOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  int64_t last = shapeOf(x).size() - 1;
  auto [centered, scale] = center(c, x, op.getEps().convertToDouble());
  Value normal = c.mul(centered, c.spread(scale, x, last));
  return {c.add(c.mul(normal, op.getGamma()), op.getBeta())};
}

/// With h = (x - mean) / std and g = dy gamma:
/// dx = (g - mean(g) - h mean(g h)) / std.
SmallVector<Value> decompose(LayerNormGradOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX(), dy = op.getDy();
  int64_t last = shapeOf(x).size() - 1;
  auto [centered, scale] = center(c, x, op.getEps().convertToDouble());
  Value rows = c.spread(scale, x, last);
  Value h = c.mul(centered, rows);
  Value g = c.mul(dy, op.getGamma());
  Value meanG = c.spread(c.mean(g, last), x, last);
  Value meanGH = c.spread(c.mean(c.mul(g, h), last), x, last);
  Value dx = c.mul(c.sub(c.sub(g, meanG), c.mul(h, meanGH)), rows);
  return {dx, c.sumRows(c.mul(dy, h)), c.sumRows(dy)};
}

SmallVector<Value> decompose(RmsNormOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX();
  int64_t last = shapeOf(x).size() - 1;
  Value scale = inverseRms(c, x, op.getEps().convertToDouble());
  return {c.mul(c.mul(x, c.spread(scale, x, last)), op.getGamma())};
}

/// With h = x / rms and g = dy gamma: dx = (g - h mean(g h)) / rms.
SmallVector<Value> decompose(RmsNormGradOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getX(), dy = op.getDy();
  int64_t last = shapeOf(x).size() - 1;
  Value scale = inverseRms(c, x, op.getEps().convertToDouble());
  Value rows = c.spread(scale, x, last);
  Value h = c.mul(x, rows);
  Value g = c.mul(dy, op.getGamma());
  Value meanGH = c.spread(c.mean(c.mul(g, h), last), x, last);
  Value dx = c.mul(c.sub(g, c.mul(h, meanGH)), rows);
  return {dx, c.sumRows(c.mul(dy, h))};
}

//===----------------------------------------------------------------------===//
// Cross entropy
//===----------------------------------------------------------------------===//

/// One reduction per statistic, so that each becomes a partial max or sum where
/// the vocabulary is sharded.
SmallVector<Value> decompose(CrossEntropyOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getLogits();
  int64_t last = shapeOf(x).size() - 1;
  double smoothing = op.getSmoothing().convertToDouble();
  Value max = c.reduceDim(ReduceKind::Max, x, last);
  Value e = c.exp(c.sub(x, c.spread(max, x, last)));
  Value sum = c.reduceDim(ReduceKind::Sum, e, last);
  Value lse = c.add(max, c.unary<LogOp>(sum));
  Value here = c.compare(ComparePredicate::EQ, c.iota(x, last),
                         c.spread(op.getLabels(), x, last));
  Value target =
      c.reduceDim(ReduceKind::Sum, c.select(here, x, c.scalar(0)), last);
  Value loss = c.sub(lse, c.mul(target, 1.0 - smoothing));
  if (smoothing > 0) {
    Value all = c.reduceDim(ReduceKind::Sum, x, last);
    loss = c.sub(loss, c.mul(all, smoothing / double(shapeOf(x)[last])));
  }
  return {loss, lse};
}

SmallVector<Value> decompose(CrossEntropyGradOp op, OpBuilder &b) {
  Composer c(b, op);
  Value x = op.getLogits();
  int64_t last = shapeOf(x).size() - 1;
  double smoothing = op.getSmoothing().convertToDouble();
  Value p = c.exp(c.sub(x, c.spread(op.getLse(), x, last)));
  Value here =
      c.compare(ComparePredicate::EQ, c.iota(x, last, op.getOffsetAttr()),
                c.spread(op.getLabels(), x, last));
  double rest = smoothing / double(op.getVocabulary());
  Value wanted =
      c.select(here, c.scalar(1.0 - smoothing + rest), c.scalar(rest));
  return {c.mul(c.sub(p, wanted), c.spread(op.getDloss(), x, last))};
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

/// `value` where the step is good, else `old`.
Value keepIf(Composer &c, Value ok, Value value, Value old) {
  Value isOk = c.repeated(c.compare(ComparePredicate::EQ, ok, c.scalar(1)));
  return c.select(isOk, value, old);
}

SmallVector<Value> decompose(AdamWOp op, OpBuilder &b) {
  Composer c(b, op, /*exact=*/true);
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  Value p = op.getParam();
  Value lr = c.element(op.getHyper(), 0);
  Value inverse1 = c.repeated(c.div(c.scalar(1), c.element(op.getHyper(), 1)));
  Value inverse2 = c.repeated(c.div(c.scalar(1), c.element(op.getHyper(), 2)));
  Value g = c.mul(op.getGrad(), op.getGscale());
  Value m = c.add(c.mul(op.getM(), beta1), c.mul(g, 1.0 - beta1));
  Value v = c.add(c.mul(op.getV(), beta2), c.mul(c.mul(g, g), 1.0 - beta2));
  Value root = c.unary<SqrtOp>(c.mul(v, inverse2));
  Value change =
      c.div(c.mul(m, inverse1), c.add(root, op.getEps().convertToDouble()));
  if (double decay = op.getWeightDecay().convertToDouble())
    change = c.add(change, c.mul(p, decay));
  Value next = c.sub(p, c.mul(change, lr));
  return {keepIf(c, op.getOk(), next, p), keepIf(c, op.getOk(), m, op.getM()),
          keepIf(c, op.getOk(), v, op.getV())};
}

SmallVector<Value> decompose(SgdOp op, OpBuilder &b) {
  Composer c(b, op, /*exact=*/true);
  Value p = op.getParam();
  Value lr = c.element(op.getHyper(), 0);
  Value g = c.mul(op.getGrad(), op.getGscale());
  if (double decay = op.getWeightDecay().convertToDouble())
    g = c.add(g, c.mul(p, decay));
  Value m = c.add(c.mul(op.getM(), op.getMomentum().convertToDouble()), g);
  Value next = c.sub(p, c.mul(m, lr));
  return {keepIf(c, op.getOk(), next, p), keepIf(c, op.getOk(), m, op.getM())};
}

/// Calls `decompose` for the operation on operands of 32 bits at least; what it
/// returns is given the types of the operation's results.
SmallVector<Value>
computeWide(Operation *op, OpBuilder &b,
            llvm::function_ref<SmallVector<Value>(Operation *)> decompose) {
  Composer c(b, op);
  auto isNarrow = [&](Value value) {
    return statisticsType(c.elementOf(value)) != c.elementOf(value);
  };
  if (llvm::none_of(op->getOperands(), isNarrow))
    return decompose(op);
  Operation *wide = op->clone();
  for (OpOperand &operand : wide->getOpOperands())
    operand.set(c.widened(operand.get()));
  for (Value result : wide->getResults())
    result.setType(RankedTensorType::get(shapeOf(result),
                                         statisticsType(c.elementOf(result))));
  SmallVector<Value> values = decompose(wide);
  for (auto [value, result] : llvm::zip(values, op->getResults()))
    value = c.convert(value, c.elementOf(result));
  wide->destroy();
  return values;
}

template <typename OpT>
struct Model : Decomposable::ExternalModel<Model<OpT>, OpT> {
  SmallVector<Value> decompose(Operation *op, OpBuilder &builder) const {
    return computeWide(op, builder, [&](Operation *wide) {
      return ::decompose(cast<OpT>(wide), builder);
    });
  }
};

template <typename... OpTs> void attach(MLIRContext *context) {
  (OpTs::template attachInterface<Model<OpTs>>(*context), ...);
}

} // namespace

void stretto::registerDecomposableModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StrettoDialect *) {
    attach<SiluOp, GeluOp, SoftmaxOp, LayerNormOp, LayerNormGradOp, RmsNormOp,
           RmsNormGradOp, CrossEntropyOp, CrossEntropyGradOp, AdamWOp, SgdOp>(
        context);
    compose::attachMovement(context);
    compose::attachAttention(context);
  });
}
