//===- Optimizers.cpp - evaluation of parameter updates -------------------===//

#include "Optimizers.h"
#include "Models.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::interp;

namespace stretto {

/// All operands are real; the first `states` are shaped like the parameter,
/// then come hyper [4], gscale and ok.
static LogicalResult checkOptimizer(Operation *op, ArrayRef<Tensor> in,
                                    size_t states) {
  if (failed(expectKinds(op, in, std::string(in.size(), 'r'))))
    return failure();
  for (const Tensor &state : in.take_front(states))
    if (failed(expectShape(op, state, in[0].getShape(), "gradient or moment")))
      return failure();
  if (failed(expectShape(op, in[states], {4}, "hyper")) ||
      failed(expectShape(op, in[states + 1], {}, "gscale")))
    return failure();
  return expectShape(op, in[states + 2], {}, "ok");
}

static EvalResult eval(AdamWOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (failed(checkOptimizer(op, in, 4)))
    return failure();
  ArrayRef<double> grad = in[1].getFloats(), hyper = in[4].getFloats();
  Tensor param = in[0], moment1 = in[2], moment2 = in[3];
  double gscale = in[5].getFloats()[0];
  if (in[6].getFloats()[0] != 1)
    return TensorVector{param, moment1, moment2};
  AdamW rule{op.getBeta1().convertToDouble(), op.getBeta2().convertToDouble(),
             op.getEps().convertToDouble(),
             op.getWeightDecay().convertToDouble()};
  MutableArrayRef<double> p = param.writeFloats(), m = moment1.writeFloats(),
                          v = moment2.writeFloats();
  for (size_t i = 0; i < p.size(); ++i)
    rule.update(p[i], m[i], v[i], grad[i] * gscale, hyper);
  return TensorVector{param, moment1, moment2};
}

static EvalResult eval(SgdOp op, ArrayRef<Tensor> in, const EvalContext &) {
  if (failed(checkOptimizer(op, in, 3)))
    return failure();
  ArrayRef<double> grad = in[1].getFloats(), hyper = in[3].getFloats();
  Tensor param = in[0], moment = in[2];
  double gscale = in[4].getFloats()[0];
  if (in[5].getFloats()[0] != 1)
    return TensorVector{param, moment};
  Sgd rule{op.getMomentum().convertToDouble(),
           op.getWeightDecay().convertToDouble()};
  MutableArrayRef<double> p = param.writeFloats(), m = moment.writeFloats();
  for (size_t i = 0; i < p.size(); ++i)
    rule.update(p[i], m[i], grad[i] * gscale, hyper);
  return TensorVector{param, moment};
}

} // namespace stretto

void interp::attachOptimizers(MLIRContext *context) {
  attachEvaluations<AdamWOp, SgdOp>(context);
}
