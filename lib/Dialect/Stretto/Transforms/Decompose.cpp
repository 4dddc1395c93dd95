//===- Decompose.cpp - fused operations as compositions -------------------===//

#include "stretto/Dialect/Stretto/Transforms/Decompose.h"

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include <cmath>

using namespace mlir;
using namespace stretto;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
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
                                   b.getDenseI64ArrayAttr(dims))
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

template <typename OpT>
struct Model : Decomposable::ExternalModel<Model<OpT>, OpT> {
  SmallVector<Value> decompose(Operation *op, OpBuilder &builder) const {
    return ::decompose(cast<OpT>(op), builder);
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
  });
}
