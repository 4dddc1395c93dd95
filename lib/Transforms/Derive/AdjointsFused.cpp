//===- AdjointsFused.cpp - adjoints of fused operations -------------------===//
//
// Mostly the dialect's own gradient operations; what is missing there is
// written in primitives.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::adjoint;

namespace {
/// dx = y (g - sum(g y)).
struct Softmax : Differentiable::ExternalModel<Softmax, SoftmaxOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto softmax = cast<SoftmaxOp>(op);
    Writer w(b, op);
    Value y = softmax.getResult();
    int64_t dim = softmax.getDim();
    Value inner = w.spread(w.sum(w.mul(g[0], y), dim), y, dim);
    return {w.mul(y, w.sub(g[0], inner))};
  }
};

struct LayerNorm : Differentiable::ExternalModel<LayerNorm, LayerNormOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto norm = cast<LayerNormOp>(op);
    auto grad = LayerNormGradOp::create(
        b, op->getLoc(), norm.getX(), norm.getGamma(), g[0], norm.getEpsAttr());
    return {grad.getDx(), grad.getDgamma(), grad.getDbeta()};
  }
};

struct RmsNorm : Differentiable::ExternalModel<RmsNorm, RmsNormOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto norm = cast<RmsNormOp>(op);
    auto grad = RmsNormGradOp::create(b, op->getLoc(), norm.getX(),
                                      norm.getGamma(), g[0], norm.getEpsAttr());
    return {grad.getDx(), grad.getDgamma()};
  }
};

/// A rotation's adjoint rotates back.
struct Rope : Differentiable::ExternalModel<Rope, RopeOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto rope = cast<RopeOp>(op);
    auto back = RopeOp::create(
        b, op->getLoc(), g[0], rope.getPositions(), rope.getBaseAttr(),
        rope.getTransposed() ? UnitAttr() : b.getUnitAttr());
    return {back.getResult(), Value()};
  }
};

struct Attention : Differentiable::ExternalModel<Attention, AttentionOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto attention = cast<AttentionOp>(op);
    if (g[1]) {
      op->emitOpError("has no adjoint for its second result, lse");
      return {};
    }
    auto grad = AttentionGradOp::create(
        b, op->getLoc(),
        ValueRange{attention.getQ(), attention.getK(), attention.getV(),
                   attention.getOut(), attention.getLse(), g[0]},
        op->getAttrDictionary().getValue());
    return {grad.getDq(), grad.getDk(), grad.getDv()};
  }
};

/// Through the loss by cross_entropy_grad, through lse by softmax(logits).
struct CrossEntropy
    : Differentiable::ExternalModel<CrossEntropy, CrossEntropyOp> {
  Cotangents vjp(Operation *op, OpBuilder &b, ValueRange g) const {
    auto entropy = cast<CrossEntropyOp>(op);
    Value logits = entropy.getLogits(), lse = entropy.getLse();
    int64_t last = typeOf(logits).getRank() - 1;
    Value total;
    if (g[0])
      total = CrossEntropyGradOp::create(
          b, op->getLoc(), logits, entropy.getLabels(), lse, g[0],
          entropy.getSmoothingAttr(),
          b.getI64IntegerAttr(typeOf(logits).getDimSize(last)), OffsetAttr());
    if (g[1]) {
      // In the statistics' type, until it meets the other cotangent.
      Writer w(b, op), wide(b, op->getLoc(), typeOf(lse).getElementType());
      Value x = wide.convert(logits);
      Value p = wide.unary<ExpOp>(wide.sub(x, wide.spread(lse, x, last)));
      Value through = w.convert(wide.mul(wide.spread(g[1], x, last), p));
      total = total ? w.add(total, through) : through;
    }
    return {total, Value()};
  }
};
} // namespace

void adjoint::registerFused(MLIRContext *context) {
  SoftmaxOp::attachInterface<Softmax>(*context);
  LayerNormOp::attachInterface<LayerNorm>(*context);
  RmsNormOp::attachInterface<RmsNorm>(*context);
  RopeOp::attachInterface<Rope>(*context);
  AttentionOp::attachInterface<Attention>(*context);
  CrossEntropyOp::attachInterface<CrossEntropy>(*context);
}
