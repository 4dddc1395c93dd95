//===- AdjointsElementwise.cpp - adjoints of pointwise operations ---------===//
//
// A unary function is given by its derivative, as a function of its operand x
// and result y; what aligns in a binary operation is summed back.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::adjoint;

static constexpr double pi = 3.14159265358979323846;

//===----------------------------------------------------------------------===//
// Unary: dx = g * f'(x)
//===----------------------------------------------------------------------===//

static Value derivative(ExpOp op, Writer &) { return op.getResult(); }
static Value derivative(LogOp op, Writer &w) {
  return w.div(w.constant(1), op.getX());
}
static Value derivative(SqrtOp op, Writer &w) {
  return w.div(w.constant(0.5), op.getResult());
}
static Value derivative(RsqrtOp op, Writer &w) {
  Value y = op.getResult();
  return w.mul(w.mul(w.mul(y, y), y), -0.5);
}
static Value derivative(TanhOp op, Writer &w) {
  return w.oneMinus(w.mul(op.getResult(), op.getResult()));
}
static Value derivative(SigmoidOp op, Writer &w) {
  return w.mul(op.getResult(), w.oneMinus(op.getResult()));
}
static Value derivative(ErfOp op, Writer &w) {
  Value exponential = w.unary<ExpOp>(w.neg(w.mul(op.getX(), op.getX())));
  return w.mul(exponential, 2 / std::sqrt(pi));
}

/// s (1 + x (1 - s)) with s = sigmoid(x).
static Value derivative(SiluOp op, Writer &w) {
  Value s = w.unary<SigmoidOp>(op.getX());
  return w.mul(s, w.add(w.mul(op.getX(), w.oneMinus(s)), 1));
}

/// Phi(x) + x phi(x).
static Value derivativeOfExactGelu(Value x, Writer &w) {
  Value cdf = w.mul(w.add(w.unary<ErfOp>(w.mul(x, std::sqrt(0.5))), 1), 0.5);
  Value density =
      w.mul(w.unary<ExpOp>(w.mul(w.mul(x, x), -0.5)), 1 / std::sqrt(2 * pi));
  return w.add(cdf, w.mul(x, density));
}

/// With u = c (x + a x^3) and t = tanh u: (1 + t + x (1 - t^2) c (1 + 3 a x^2))
/// / 2.
static Value derivativeOfTanhGelu(Value x, Writer &w) {
  const double c = std::sqrt(2 / pi), a = 0.044715;
  Value square = w.mul(x, x);
  Value u = w.mul(w.mul(x, w.add(w.mul(square, a), 1)), c);
  Value t = w.unary<TanhOp>(u);
  Value du = w.mul(w.add(w.mul(square, 3 * a), 1), c);
  Value slope = w.mul(w.mul(x, w.oneMinus(w.mul(t, t))), du);
  return w.mul(w.add(w.add(t, slope), 1), 0.5);
}

static Value derivative(GeluOp op, Writer &w) {
  return op.getTanh() ? derivativeOfTanhGelu(op.getX(), w)
                      : derivativeOfExactGelu(op.getX(), w);
}

namespace {
template <typename OpT>
struct Unary : Differentiable::ExternalModel<Unary<OpT>, OpT> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    Writer w(builder, op);
    return {w.mul(g[0], derivative(cast<OpT>(op), w))};
  }
};

struct Neg : Differentiable::ExternalModel<Neg, NegOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    return {Writer(builder, op).neg(g[0])};
  }
};

/// The operation itself, applied to the cotangent: it is symmetric.
template <typename OpT>
struct SelfAdjoint : Differentiable::ExternalModel<SelfAdjoint<OpT>, OpT> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    IRMapping mapping;
    mapping.map(op->getOperand(0), g[0]);
    return {builder.clone(*op, mapping)->getResult(0)};
  }
};

struct MaskPad : Differentiable::ExternalModel<MaskPad, MaskPadOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    IRMapping mapping;
    mapping.map(op->getOperand(0), g[0]);
    auto masked = cast<MaskPadOp>(builder.clone(*op, mapping));
    masked.setValue(APFloat(0.0));
    return {masked.getResult()};
  }
};

struct Convert : Differentiable::ExternalModel<Convert, ConvertOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    return {ConvertOp::create(builder, op->getLoc(),
                              bareType(op->getOperand(0).getType()), g[0])};
  }
};

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

struct Add : Differentiable::ExternalModel<Add, AddOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    Writer w(builder, op);
    auto add = cast<AddOp>(op);
    return {w.sumTo(g[0], add.getLhs()), w.sumTo(g[0], add.getRhs())};
  }
};

struct Sub : Differentiable::ExternalModel<Sub, SubOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    Writer w(builder, op);
    auto sub = cast<SubOp>(op);
    return {w.sumTo(g[0], sub.getLhs()), w.neg(w.sumTo(g[0], sub.getRhs()))};
  }
};

struct Mul : Differentiable::ExternalModel<Mul, MulOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    Writer w(builder, op);
    auto mul = cast<MulOp>(op);
    return {w.sumTo(w.mul(g[0], mul.getRhs()), mul.getLhs()),
            w.sumTo(w.mul(g[0], mul.getLhs()), mul.getRhs())};
  }
};

/// d(x/y) = dx / y - (x/y) / y dy.
struct Div : Differentiable::ExternalModel<Div, DivOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    Writer w(builder, op);
    auto div = cast<DivOp>(op);
    Value dx = w.div(g[0], div.getRhs());
    Value dy = w.neg(w.mul(dx, div.getResult()));
    return {w.sumTo(dx, div.getLhs()), w.sumTo(dy, div.getRhs())};
  }
};

/// The chosen operand gets the cotangent; of equal ones the first.
template <typename OpT, ComparePredicate firstWins>
struct Extremum : Differentiable::ExternalModel<Extremum<OpT, firstWins>, OpT> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    Writer w(builder, op);
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    Value first = w.compare(firstWins, lhs, rhs), zero = w.constant(0);
    return {w.sumTo(w.select(first, g[0], zero), lhs),
            w.sumTo(w.select(first, zero, g[0]), rhs)};
  }
};

struct Select : Differentiable::ExternalModel<Select, SelectOp> {
  Cotangents vjp(Operation *op, OpBuilder &builder, ValueRange g) const {
    auto select = cast<SelectOp>(op);
    Writer w(builder, op->getLoc(),
             typeOf(select.getResult()).getElementType());
    Value condition = select.getCondition(), zero = w.constant(0);
    return {Value(),
            w.sumTo(w.select(condition, g[0], zero), select.getOnTrue()),
            w.sumTo(w.select(condition, zero, g[0]), select.getOnFalse())};
  }
};
} // namespace

template <typename... OpTs> static void attachUnary(MLIRContext *context) {
  (OpTs::template attachInterface<Unary<OpTs>>(*context), ...);
}

void adjoint::registerElementwise(MLIRContext *context) {
  attachUnary<ExpOp, LogOp, SqrtOp, RsqrtOp, TanhOp, SigmoidOp, ErfOp, SiluOp,
              GeluOp>(context);
  NegOp::attachInterface<Neg>(*context);
  DropoutOp::attachInterface<SelfAdjoint<DropoutOp>>(*context);
  MaskPadOp::attachInterface<MaskPad>(*context);
  ConvertOp::attachInterface<Convert>(*context);
  AddOp::attachInterface<Add>(*context);
  SubOp::attachInterface<Sub>(*context);
  MulOp::attachInterface<Mul>(*context);
  DivOp::attachInterface<Div>(*context);
  MaximumOp::attachInterface<Extremum<MaximumOp, ComparePredicate::GE>>(
      *context);
  MinimumOp::attachInterface<Extremum<MinimumOp, ComparePredicate::LE>>(
      *context);
  SelectOp::attachInterface<Select>(*context);
}
