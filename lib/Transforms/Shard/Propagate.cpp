//===- Propagate.cpp - which axes every factor holds ----------------------===//
//
// Constraints speak about dimensions of arguments, results and constrained
// values; classes carry them to every dimension (Wishes); each operation then
// settles which of its factors gets an axis that several want (Settle).
//
//===----------------------------------------------------------------------===//

#include "ModulePropagation.h"
#include "stretto/Transforms/Shard/Passes.h"

namespace stretto {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

/// Which result of the segment that `producer` invokes `tensor` is.
static unsigned positionOf(TensorRef tensor, InvokeOp producer) {
  ValueRange before = producer.getResults().take_front(
      cast<OpResult>(tensor.value).getResultNumber());
  return tensorTypesOf(before.getTypes()).size() + std::max(tensor.member, 0);
}

/// Arguments without a constraint take that of the result that feeds them.
void ModulePropagation::inherit(InvokeOp invoke, SegmentOp segment) {
  for (auto [index, operand] : llvm::enumerate(invoke.getTensorOperands())) {
    auto producer = operand.value.getDefiningOp<InvokeOp>();
    if (!producer || segment.getArgAttr(index, attr::constraint))
      continue;
    auto source = symbols.lookup<SegmentOp>(producer.getCallee());
    unsigned result = positionOf(operand, producer);
    auto constraint = source ? source.getResultAttrOfType<ConstraintAttr>(
                                   result, attr::constraint)
                             : ConstraintAttr();
    if (!constraint)
      continue;
    segment.setArgAttr(index, attr::constraint, openAll(constraint));
    inherited[{segment, unsigned(index)}] = {source, result};
  }
}

LogicalResult ModulePropagation::run() {
  FailureOr<Links> links = Links::of(module, mesh);
  if (failed(links))
    return failure();
  cost = MoveCost(*links);
  WalkResult result = module.walk([&](InvokeOp invoke) {
    auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    if (!segment) {
      invoke.emitOpError("calls @")
          << invoke.getCallee()
          << ", which is in a nested module; put all segments and steps into "
             "one module";
      return WalkResult::interrupt();
    }
    if (bodies.count(segment))
      return WalkResult::advance();
    inherit(invoke, segment);
    auto body = std::make_unique<BodyPropagation>(segment, mesh, cost);
    if (failed(body->decide()))
      return WalkResult::interrupt();
    body->write();
    bodies[segment] = std::move(body);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct PropagatePass : stretto::impl::PropagatePassBase<PropagatePass> {
  void runOnOperation() override {
    if (failed(ModulePropagation(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
