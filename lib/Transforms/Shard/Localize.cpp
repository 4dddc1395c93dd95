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

namespace {
/// Local types by global type: a model has few types and many values.
class LocalTypes {
public:
  Type operator()(Type type) {
    Type &local = known[type];
    if (!local)
      local = compute(type);
    return local;
  }
  SmallVector<Type> operator()(TypeRange types) {
    return llvm::map_to_vector(types, [&](Type type) { return (*this)(type); });
  }

private:
  static Type compute(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    DistAttr dist = getDist(type);
    if (!tensor || !dist)
      return type;
    return RankedTensorType::get(dist.localShape(tensor.getShape()),
                                 tensor.getElementType());
  }
  llvm::DenseMap<Type, Type> known;
};
} // namespace

static SmallVector<DistAttr> distributions(ValueRange values) {
  return llvm::map_to_vector(values,
                             [](Value value) { return getDist(value); });
}

/// Clones the body with local types, so that every copy can be told what its
/// original looked like.
static void localizeSegment(SegmentOp segment, LocalTypes &local) {
  Block &old = segment.getBody().front();
  Block *body = new Block();
  segment.getBody().push_back(body);
  IRMapping mapping;
  for (BlockArgument argument : old.getArguments())
    mapping.map(argument, body->addArgument(local(argument.getType()),
                                            argument.getLoc()));
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  for (Operation &op : old) {
    Operation *copy = builder.clone(op, mapping);
    for (Value result : copy->getResults())
      result.setType(local(result.getType()));
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

/// The attributes of `old` with distribution and logical shape of what the host
/// binds. Made for all at once: setting them one by one copies the list each
/// time.
static ArrayAttr withBindings(StepOp step, TypeRange types, ArrayAttr old) {
  MLIRContext *context = step.getContext();
  auto distName = StringAttr::get(context, "stretto.dist");
  auto shapeName = StringAttr::get(context, "stretto.global_shape");
  SmallVector<Attribute> all;
  for (auto [index, type] : llvm::enumerate(types)) {
    NamedAttrList attributes;
    if (old)
      attributes = NamedAttrList(cast<DictionaryAttr>(old[index]));
    if (DistAttr dist = getDist(type)) {
      attributes.set(distName, dist);
      attributes.set(shapeName,
                     DenseI64ArrayAttr::get(
                         context, cast<RankedTensorType>(type).getShape()));
    }
    all.push_back(attributes.getDictionary(context));
  }
  return ArrayAttr::get(context, all);
}

static void localizeStep(StepOp step, LocalTypes &local) {
  step.setArgAttrsAttr(
      withBindings(step, step.getArgumentTypes(), step.getArgAttrsAttr()));
  step.setResAttrsAttr(
      withBindings(step, step.getResultTypes(), step.getResAttrsAttr()));
  auto localizeValue = [&](Value value) {
    value.setType(local(value.getType()));
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
                                         local(step.getArgumentTypes()),
                                         local(step.getResultTypes())));
}

namespace {
struct LocalizePass : stretto::impl::LocalizePassBase<LocalizePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    LocalTypes local;
    for (SegmentOp segment : module.getOps<SegmentOp>())
      localizeSegment(segment, local);
    for (StepOp step : module.getOps<StepOp>())
      localizeStep(step, local);
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
