//===- Localize.cpp - the program of one rank -----------------------------===//
//
// Every tensor type becomes the local shape without encoding; operations that
// depend on the place of their shard are told it in closed form.
//
//===----------------------------------------------------------------------===//

#include "Requests.h"
#include "mlir/IR/IRMapping.h"
#include "stretto/Transforms/Shard/Passes.h"

namespace stretto {
#define GEN_PASS_DEF_LOCALIZEPASS
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;

static Type localType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  DistAttr dist = getDist(type);
  if (!tensor || !dist)
    return type;
  return RankedTensorType::get(dist.localShape(tensor.getShape()),
                               tensor.getElementType());
}

static SmallVector<Type> localTypes(TypeRange types) {
  return llvm::map_to_vector(types, localType);
}

static SmallVector<DistAttr> distributions(ValueRange values) {
  return llvm::map_to_vector(values,
                             [](Value value) { return getDist(value); });
}

/// Clones the body with local types, so that every copy can be told what its
/// original looked like.
static void localizeSegment(SegmentOp segment) {
  Block &old = segment.getBody().front();
  Block *body = new Block();
  segment.getBody().push_back(body);
  IRMapping mapping;
  for (BlockArgument argument : old.getArguments())
    mapping.map(argument, body->addArgument(localType(argument.getType()),
                                            argument.getLoc()));
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  for (Operation &op : old) {
    Operation *copy = builder.clone(op, mapping);
    for (Value result : copy->getResults())
      result.setType(localType(result.getType()));
    if (auto ruled = dyn_cast<ShardingRule>(copy))
      ruled.localizeAttributes(distributions(op.getOperands()),
                               distributions(op.getResults()), &op);
  }
  old.dropAllReferences();
  old.erase();
  segment.setFunctionType(
      FunctionType::get(segment.getContext(), body->getArgumentTypes(),
                        body->getTerminator()->getOperandTypes()));
}

/// Distribution and logical shape of what the host binds.
static void recordBinding(StepOp step, Type type, unsigned index, bool result) {
  DistAttr dist = getDist(type);
  if (!dist)
    return;
  auto shape = DenseI64ArrayAttr::get(step.getContext(),
                                      cast<RankedTensorType>(type).getShape());
  if (result) {
    step.setResultAttr(index, "stretto.dist", dist);
    step.setResultAttr(index, "stretto.global_shape", shape);
  } else {
    step.setArgAttr(index, "stretto.dist", dist);
    step.setArgAttr(index, "stretto.global_shape", shape);
  }
}

static void localizeStep(StepOp step) {
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes()))
    recordBinding(step, type, index, /*result=*/false);
  for (auto [index, type] : llvm::enumerate(step.getResultTypes()))
    recordBinding(step, type, index, /*result=*/true);
  auto localizeValue = [](Value value) {
    value.setType(localType(value.getType()));
  };
  Block &body = step.getBody().front();
  llvm::for_each(body.getArguments(), localizeValue);
  step.walk([&](Operation *op) {
    if (op == step)
      return;
    llvm::for_each(op->getResults(), localizeValue);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), localizeValue);
  });
  step.setFunctionType(FunctionType::get(step.getContext(),
                                         localTypes(step.getArgumentTypes()),
                                         localTypes(step.getResultTypes())));
}

namespace {
struct LocalizePass : stretto::impl::LocalizePassBase<LocalizePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (SegmentOp segment : module.getOps<SegmentOp>())
      localizeSegment(segment);
    for (StepOp step : module.getOps<StepOp>())
      localizeStep(step);
  }
};

struct VerifyLocalPass : stretto::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (isa<ReshardOp>(op)) {
        op->emitOpError("is left after localize");
        return WalkResult::interrupt();
      }
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type);
            tensor && tensor.getEncoding()) {
          op->emitOpError("has an encoding after localize");
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
