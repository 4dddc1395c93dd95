//===- RandomModels.cpp - operations that draw bits -----------------------===//

#include "stretto/Transforms/Derive/Models.h"

using namespace mlir;
using namespace stretto;

#include "stretto/Transforms/Derive/RandomInterface.cpp.inc"

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {
struct Dropout : RandomDraw::ExternalModel<Dropout, DropoutOp> {
  bool draws(Operation *op) const {
    return !cast<DropoutOp>(op).getP().isZero();
  }
  void setKey(Operation *op, int64_t id,
              std::optional<int64_t> sampleDim) const {
    auto dropout = cast<DropoutOp>(op);
    dropout.setOpId(id);
    dropout.setExtents(shapeOf(dropout.getX()));
    if (sampleDim)
      dropout.setSampleDim(*sampleDim);
  }
  void makeDeterministic(Operation *op) const {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
};

struct Attention : RandomDraw::ExternalModel<Attention, AttentionOp> {
  bool draws(Operation *op) const {
    return !cast<AttentionOp>(op).getP().isZero();
  }
  /// Samples are counted by the first dimension of q, whatever its name.
  void setKey(Operation *op, int64_t id, std::optional<int64_t>) const {
    auto attention = cast<AttentionOp>(op);
    attention.setOpId(id);
    attention.setSamples(shapeOf(attention.getQ())[0]);
  }
  void makeDeterministic(Operation *op) const {
    cast<AttentionOp>(op).setP(APFloat(0.0));
  }
};
} // namespace

void stretto::registerRandomModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StrettoDialect *) {
    DropoutOp::attachInterface<Dropout>(*context);
    AttentionOp::attachInterface<Attention>(*context);
  });
}
