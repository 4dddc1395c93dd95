//===- Norms.cpp - evaluation of normalisations and rotary positions ------===//

#include "Models.h"

#include <cmath>

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

namespace {
/// A tensor seen as rows over its last dimension.
struct Rows {
  int64_t count, width;
  explicit Rows(const Tensor &x)
      : count(numElements(x.getShape().drop_back())),
        width(x.getShape().back()) {}
};
} // namespace

/// All operands are real; those after x are vectors along its last dimension,
/// except that the last one may be a cotangent, shaped like x.
static LogicalResult checkNorm(Operation *op, ArrayRef<Tensor> in,
                               bool lastIsTensor) {
  if (failed(expectKinds(op, in, std::string(in.size(), 'r'))))
    return failure();
  if (in[0].getRank() == 0)
    return op->emitOpError("x has rank 0");
  ArrayRef<int64_t> shape = in[0].getShape();
  for (size_t i = 1; i < in.size(); ++i) {
    bool isTensor = lastIsTensor && i + 1 == in.size();
    if (failed(expectShape(op, in[i], isTensor ? shape : shape.take_back(1),
                           isTensor ? "dy" : "scale or shift")))
      return failure();
  }
  return success();
}

static double mean(ArrayRef<double> row) {
  double sum = 0;
  for (double x : row)
    sum += x;
  return sum / double(row.size());
}

static double dot(ArrayRef<double> a, ArrayRef<double> b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip(a, b))
    sum += x * y;
  return sum;
}

/// (x - mean) / sqrt(var + eps) of one row, and the factor 1 / sqrt(var + eps).
static double normalise(ArrayRef<double> row, double eps,
                        std::vector<double> &out) {
  double center = mean(row), variance = 0;
  for (double x : row)
    variance += (x - center) * (x - center);
  double scale = 1 / std::sqrt(variance / double(row.size()) + eps);
  for (size_t i = 0; i < row.size(); ++i)
    out[i] = (row[i] - center) * scale;
  return scale;
}

static double rmsScale(ArrayRef<double> row, double eps) {
  return 1 / std::sqrt(dot(row, row) / double(row.size()) + eps);
}

static EvalResult eval(LayerNormOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  if (failed(checkNorm(op, in, /*lastIsTensor=*/false)))
    return failure();
  Rows rows(in[0]);
  ArrayRef<double> gamma = in[1].getFloats(), beta = in[2].getFloats();
  double eps = op.getEps().convertToDouble();
  Tensor y = Tensor::floats(in[0].getShape());
  MutableArrayRef<double> out = y.writeFloats();
  std::vector<double> hat(rows.width);
  for (int64_t r = 0; r < rows.count; ++r) {
    normalise(in[0].getFloats().slice(r * rows.width, rows.width), eps, hat);
    for (int64_t i = 0; i < rows.width; ++i)
      out[r * rows.width + i] = hat[i] * gamma[i] + beta[i];
  }
  return one(y);
}

/// With g = dy * gamma and n = (x - mean) * r:
/// dx = r (g - mean(g) - n mean(g n)), dgamma = sum dy n, dbeta = sum dy.
static EvalResult eval(LayerNormGradOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  if (failed(checkNorm(op, in, /*lastIsTensor=*/true)))
    return failure();
  Rows rows(in[0]);
  ArrayRef<double> gamma = in[1].getFloats();
  double eps = op.getEps().convertToDouble();
  Tensor dx = Tensor::floats(in[0].getShape());
  Tensor dgamma = Tensor::floats(in[1].getShape()), dbeta = dgamma;
  MutableArrayRef<double> dxs = dx.writeFloats(),
                          dgammas = dgamma.writeFloats(),
                          dbetas = dbeta.writeFloats();
  std::vector<double> hat(rows.width), g(rows.width);
  for (int64_t r = 0; r < rows.count; ++r) {
    ArrayRef<double> dy = in[2].getFloats().slice(r * rows.width, rows.width);
    double scale = normalise(
        in[0].getFloats().slice(r * rows.width, rows.width), eps, hat);
    for (int64_t i = 0; i < rows.width; ++i) {
      g[i] = dy[i] * gamma[i];
      dgammas[i] += dy[i] * hat[i];
      dbetas[i] += dy[i];
    }
    double meanG = mean(g), meanGHat = dot(g, hat) / double(rows.width);
    for (int64_t i = 0; i < rows.width; ++i)
      dxs[r * rows.width + i] = scale * (g[i] - meanG - hat[i] * meanGHat);
  }
  return TensorVector{dx, dgamma, dbeta};
}

static EvalResult eval(RmsNormOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (failed(checkNorm(op, in, /*lastIsTensor=*/false)))
    return failure();
  Rows rows(in[0]);
  ArrayRef<double> gamma = in[1].getFloats();
  double eps = op.getEps().convertToDouble();
  Tensor y = in[0];
  MutableArrayRef<double> out = y.writeFloats();
  for (int64_t r = 0; r < rows.count; ++r) {
    MutableArrayRef<double> row = out.slice(r * rows.width, rows.width);
    double scale = rmsScale(row, eps);
    for (int64_t i = 0; i < rows.width; ++i)
      row[i] = row[i] * scale * gamma[i];
  }
  return one(y);
}

/// With g = dy * gamma and r = 1 / sqrt(mean(x^2) + eps):
/// dx = r g - x r^3 mean(g x), dgamma = sum dy x r.
static EvalResult eval(RmsNormGradOp op, ArrayRef<Tensor> in,
                       const EvalContext &) {
  if (failed(checkNorm(op, in, /*lastIsTensor=*/true)))
    return failure();
  Rows rows(in[0]);
  ArrayRef<double> gamma = in[1].getFloats();
  double eps = op.getEps().convertToDouble();
  Tensor dx = Tensor::floats(in[0].getShape());
  Tensor dgamma = Tensor::floats(in[1].getShape());
  MutableArrayRef<double> dxs = dx.writeFloats(),
                          dgammas = dgamma.writeFloats();
  std::vector<double> g(rows.width);
  for (int64_t r = 0; r < rows.count; ++r) {
    ArrayRef<double> x = in[0].getFloats().slice(r * rows.width, rows.width);
    ArrayRef<double> dy = in[2].getFloats().slice(r * rows.width, rows.width);
    double scale = rmsScale(x, eps);
    for (int64_t i = 0; i < rows.width; ++i) {
      g[i] = dy[i] * gamma[i];
      dgammas[i] += dy[i] * x[i] * scale;
    }
    double inner = dot(g, x) / double(rows.width) * scale * scale * scale;
    for (int64_t i = 0; i < rows.width; ++i)
      dxs[r * rows.width + i] = scale * g[i] - x[i] * inner;
  }
  return TensorVector{dx, dgamma};
}

static EvalResult eval(RopeOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (failed(expectKinds(op, in, "ri")))
    return failure();
  if (failed(
          expectShape(op, in[1], in[0].getShape().take_front(2), "positions")))
    return failure();
  int64_t heads = in[0].getShape()[2], width = in[0].getShape()[3];
  int64_t half = width / 2;
  double base = op.getBase().convertToDouble();
  double direction = op.getTransposed() ? -1 : 1;
  Tensor y = Tensor::floats(in[0].getShape());
  MutableArrayRef<double> out = y.writeFloats();
  ArrayRef<double> x = in[0].getFloats();
  for (auto [token, position] : llvm::enumerate(in[1].getInts()))
    for (int64_t i = 0; i < half; ++i) {
      double angle = direction * double(position) *
                     std::pow(base, -2.0 * double(i) / double(width));
      double c = std::cos(angle), s = std::sin(angle);
      for (int64_t h = 0; h < heads; ++h) {
        int64_t first = (int64_t(token) * heads + h) * width + i;
        out[first] = x[first] * c - x[first + half] * s;
        out[first + half] = x[first] * s + x[first + half] * c;
      }
    }
  return one(y);
}

} // namespace stretto

void interp::attachNorms(MLIRContext *context) {
  attachEvaluations<LayerNormOp, LayerNormGradOp, RmsNormOp, RmsNormGradOp,
                    RopeOp>(context);
}
