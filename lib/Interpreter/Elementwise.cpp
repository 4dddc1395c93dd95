//===- Elementwise.cpp - evaluation of pointwise operations ---------------===//

#include "Models.h"

#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

template <typename Fn> static EvalResult map(ArrayRef<Tensor> in, Fn fn) {
  Tensor result = in[0];
  for (double &x : result.writeFloats())
    x = fn(x);
  return one(result);
}

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

#define FLOAT_UNARY(OP, EXPRESSION)                                            \
  static EvalResult eval(OP op, ArrayRef<Tensor> in, const EvalContext &) {    \
    if (!in[0].isFloat())                                                      \
      return op.emitOpError("needs a floating-point operand");                 \
    return map(in, [](double x) -> double { return EXPRESSION; });             \
  }
FLOAT_UNARY(ExpOp, std::exp(x))
FLOAT_UNARY(LogOp, std::log(x))
FLOAT_UNARY(SqrtOp, std::sqrt(x))
FLOAT_UNARY(RsqrtOp, 1 / std::sqrt(x))
FLOAT_UNARY(TanhOp, std::tanh(x))
FLOAT_UNARY(SigmoidOp, sigmoid(x))
FLOAT_UNARY(ErfOp, std::erf(x))
FLOAT_UNARY(SiluOp, x *sigmoid(x))
#undef FLOAT_UNARY

static EvalResult eval(NegOp, ArrayRef<Tensor> in, const EvalContext &) {
  if (in[0].isFloat())
    return map(in, [](double x) { return -x; });
  Tensor result = in[0];
  for (int64_t &x : result.writeInts())
    x = -x;
  return one(result);
}

static EvalResult eval(GeluOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (!in[0].isFloat())
    return op.emitOpError("needs a floating-point operand");
  if (!op.getTanh())
    return map(in, [](double x) {
      return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    });
  return map(in, [](double x) {
    double scale = std::sqrt(2 / 3.14159265358979323846);
    return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
  });
}

//===----------------------------------------------------------------------===//
// Several operands, the lower ranks aligned to the trailing dimensions
//===----------------------------------------------------------------------===//

/// The shape of the highest rank, of which all others must be a tail.
static FailureOr<SmallVector<int64_t>> commonShape(Operation *op,
                                                   ArrayRef<Tensor> in) {
  ArrayRef<int64_t> shape = in[0].getShape();
  for (const Tensor &tensor : in.drop_front())
    if (tensor.getShape().size() > shape.size())
      shape = tensor.getShape();
  for (const Tensor &tensor : in)
    if (tensor.getShape() != shape.take_back(tensor.getRank()))
      return op->emitOpError("operand of shape ")
             << shapeText(tensor.getShape())
             << " does not align to the trailing dimensions of "
             << shapeText(shape);
  return SmallVector<int64_t>(shape);
}

/// Element `index` of the common shape.
template <typename T> static T aligned(ArrayRef<T> data, size_t index) {
  return data[index % data.size()];
}

template <typename In, typename Out, typename Fn>
static Tensor zipWith(ArrayRef<int64_t> shape, ArrayRef<Tensor> in, Fn fn) {
  std::vector<Out> out(numElements(shape));
  ArrayRef<In> lhs = in[0].get<In>(), rhs = in[1].get<In>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = fn(aligned(lhs, i), aligned(rhs, i));
  return Tensor::of(shape, std::move(out));
}

template <typename FloatFn, typename IntFn>
static EvalResult binary(Operation *op, ArrayRef<Tensor> in, FloatFn floatFn,
                         IntFn intFn) {
  FailureOr<SmallVector<int64_t>> shape = commonShape(op, in);
  if (failed(shape))
    return failure();
  if (in[0].isFloat())
    return one(zipWith<double, double>(*shape, in, floatFn));
  return one(zipWith<int64_t, int64_t>(*shape, in, intFn));
}

#define BINARY(OP, FN)                                                         \
  static EvalResult eval(OP op, ArrayRef<Tensor> in, const EvalContext &) {    \
    return binary(op, in, FN<double>, FN<int64_t>);                            \
  }
template <typename T> static T add(T a, T b) { return a + b; }
template <typename T> static T subtract(T a, T b) { return a - b; }
template <typename T> static T multiply(T a, T b) { return a * b; }
template <typename T> static T larger(T a, T b) {
  return combine<T>(a, b, ReduceKind::Max);
}
template <typename T> static T smaller(T a, T b) {
  return combine<T>(a, b, ReduceKind::Min);
}
BINARY(AddOp, add)
BINARY(SubOp, subtract)
BINARY(MulOp, multiply)
BINARY(MaximumOp, larger)
BINARY(MinimumOp, smaller)
#undef BINARY

static EvalResult eval(DivOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (!in[0].isFloat() && llvm::is_contained(in[1].getInts(), 0))
    return op.emitOpError("divides an integer by zero");
  return binary(
      op, in, [](double a, double b) { return a / b; },
      [](int64_t a, int64_t b) { return a / b; });
}

template <typename T> static bool holds(ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return a == b;
  case ComparePredicate::NE:
    return a != b;
  case ComparePredicate::LT:
    return a < b;
  case ComparePredicate::LE:
    return a <= b;
  case ComparePredicate::GT:
    return a > b;
  case ComparePredicate::GE:
    return a >= b;
  }
  return false;
}

static EvalResult eval(CompareOp op, ArrayRef<Tensor> in, const EvalContext &) {
  FailureOr<SmallVector<int64_t>> shape = commonShape(op, in);
  if (failed(shape))
    return failure();
  if (in[0].isFloat() != in[1].isFloat())
    return op.emitOpError("compares a real with an integer");
  ComparePredicate predicate = op.getPredicate();
  auto compare = [=](auto a, auto b) -> int64_t {
    return holds(predicate, a, b);
  };
  if (in[0].isFloat())
    return one(zipWith<double, int64_t>(*shape, in, compare));
  return one(zipWith<int64_t, int64_t>(*shape, in, compare));
}

template <typename T>
static Tensor choose(ArrayRef<int64_t> shape, ArrayRef<Tensor> in) {
  std::vector<T> out(numElements(shape));
  ArrayRef<int64_t> condition = in[0].getInts();
  ArrayRef<T> onTrue = in[1].get<T>(), onFalse = in[2].get<T>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = aligned(condition, i) ? aligned(onTrue, i) : aligned(onFalse, i);
  return Tensor::of(shape, std::move(out));
}

static EvalResult eval(SelectOp op, ArrayRef<Tensor> in, const EvalContext &) {
  FailureOr<SmallVector<int64_t>> shape = commonShape(op, in);
  if (failed(shape))
    return failure();
  if (in[0].isFloat() || in[1].isFloat() != in[2].isFloat())
    return op.emitOpError("needs an integer condition and two values of one "
                          "kind");
  return one(in[1].isFloat() ? choose<double>(*shape, in)
                             : choose<int64_t>(*shape, in));
}

//===----------------------------------------------------------------------===//
// convert, constant, zeros, mask_pad
//===----------------------------------------------------------------------===//

/// Floating-point formats are not rounded to: the reference is f64 throughout.
static EvalResult eval(ConvertOp op, ArrayRef<Tensor> in, const EvalContext &) {
  Type to = op.getResult().getType().getElementType();
  const Tensor &x = in[0];
  if (isa<FloatType>(to) == x.isFloat() && !to.isInteger(1))
    return one(x);
  if (isa<FloatType>(to))
    return one(
        Tensor::of(x.getShape(), std::vector<double>(x.getInts().begin(),
                                                     x.getInts().end())));
  std::vector<int64_t> out;
  for (int64_t i = 0; i < x.getNumElements(); ++i)
    if (to.isInteger(1))
      out.push_back(x.isFloat() ? x.getFloats()[i] != 0 : x.getInts()[i] != 0);
    else
      out.push_back(int64_t(x.getFloats()[i])); // toward zero
  return one(Tensor::of(x.getShape(), std::move(out)));
}

static EvalResult eval(ConstantOp op, ArrayRef<Tensor>, const EvalContext &) {
  RankedTensorType type = op.getResult().getType();
  if (!type.hasStaticShape())
    return op.emitOpError("has no static shape here");
  double value = op.getValue().convertToDouble();
  if (isa<FloatType>(type.getElementType()))
    return one(Tensor::floats(type.getShape(), value));
  return one(Tensor::ints(type.getShape(), int64_t(value)));
}

static EvalResult eval(ZerosOp op, ArrayRef<Tensor>, const EvalContext &) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!type.hasStaticShape())
    return op.emitOpError("has no static shape here");
  return one(isa<FloatType>(type.getElementType())
                 ? Tensor::floats(type.getShape())
                 : Tensor::ints(type.getShape()));
}

static EvalResult eval(MaskPadOp op, ArrayRef<Tensor> in,
                       const EvalContext &context) {
  FailureOr<int64_t> offset = context.offset(op, op.getOffsetAttr());
  if (failed(offset))
    return failure();
  int64_t dim = op.getDim(), size = op.getSize();
  double value = op.getValue().convertToDouble();
  if (dim < 0 || dim >= in[0].getRank())
    return op.emitOpError("dimension ")
           << dim << " is outside rank " << in[0].getRank();
  Tensor result = in[0];
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t i) {
    if (*offset + index[dim] < size)
      return;
    if (result.isFloat())
      result.writeFloats()[i] = value;
    else
      result.writeInts()[i] = int64_t(value);
  });
  return one(result);
}

} // namespace stretto

void interp::attachElementwise(MLIRContext *context) {
  attachEvaluations<NegOp, ExpOp, LogOp, SqrtOp, RsqrtOp, TanhOp, SigmoidOp,
                    ErfOp, SiluOp, GeluOp, AddOp, SubOp, MulOp, DivOp,
                    MaximumOp, MinimumOp, CompareOp, SelectOp, ConvertOp,
                    ConstantOp, ZerosOp, MaskPadOp>(context);
}
