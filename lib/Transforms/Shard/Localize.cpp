//===- Localize.cpp - the program of one rank -----------------------------===//
//
// Every tensor type becomes the local shape without encoding; operations that
// depend on the place of their shard are told it in closed form.
//
//===----------------------------------------------------------------------===//

#include "Requests.h"
#include "mlir/IR/IRMapping.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
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
    return mapTensorTypes(type, [](RankedTensorType tensor) -> Type {
      DistAttr dist = getDist(tensor);
      return dist ? RankedTensorType::get(dist.localShape(tensor.getShape()),
                                          tensor.getElementType())
                  : tensor;
    });
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
  expandHalos(segment);
}

namespace {
/// Adds distribution and logical shape to what describes the tensors that the
/// host binds. Instances of a layer share a description.
class Bindings {
public:
  explicit Bindings(MLIRContext *context)
      : context(context), dist(StringAttr::get(context, "stretto.dist")),
        shape(StringAttr::get(context, "stretto.global_shape")),
        members(StringAttr::get(context, attr::members)) {}

  /// Made for all at once: setting attributes one by one copies the list.
  ArrayAttr operator()(TypeRange types, ArrayAttr old) {
    SmallVector<Attribute> all;
    for (auto [index, type] : llvm::enumerate(types)) {
      auto known =
          old ? cast<DictionaryAttr>(old[index]) : DictionaryAttr::get(context);
      all.push_back(isBundle(type) ? ofBundle(cast<TupleType>(type), known)
                                   : ofTensor(type, known));
    }
    return ArrayAttr::get(context, all);
  }

private:
  DictionaryAttr ofTensor(Type type, DictionaryAttr old) {
    DistAttr assigned = getDist(type);
    if (!assigned)
      return old;
    NamedAttrList attributes(old);
    attributes.set(dist, assigned);
    attributes.set(
        shape, DenseI64ArrayAttr::get(context,
                                      cast<RankedTensorType>(type).getShape()));
    return attributes.getDictionary(context);
  }

  DictionaryAttr ofBundle(TupleType type, DictionaryAttr old) {
    NamedAttrList attributes(old);
    attributes.set(members,
                   describe(type, cast<MembersAttr>(old.get(members))));
    return attributes.getDictionary(context);
  }

  MembersAttr describe(TupleType type, MembersAttr old) {
    MembersAttr &entry = described[{type, old}];
    if (entry)
      return entry;
    SmallVector<Attribute> list;
    for (unsigned k = 0; k < type.size(); ++k)
      list.push_back(ofTensor(type.getType(k), old.get(k)));
    return entry = MembersAttr::get(context, ArrayAttr::get(context, list));
  }

  MLIRContext *context;
  StringAttr dist, shape, members;
  llvm::DenseMap<std::pair<Type, Attribute>, MembersAttr> described;
};
} // namespace

static void localizeStep(StepOp step, LocalTypes &local, Bindings &bindings) {
  step.setArgAttrsAttr(
      bindings(step.getArgumentTypes(), step.getArgAttrsAttr()));
  step.setResAttrsAttr(bindings(step.getResultTypes(), step.getResAttrsAttr()));
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

/// What follows asks for the distribution of every value.
static LogicalResult checkAssigned(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (isa<ReshardOp>(op) && getDist(op->getOperand(0))) {
      op->emitOpError("is not planned, from ")
          << describe(op->getOperand(0).getType()) << " to "
          << describe(op->getResult(0).getType())
          << "; run plan-reshards before localize";
      return WalkResult::interrupt();
    }
    if (!isa<ShardingRule>(op))
      return WalkResult::advance();
    for (Value value :
         llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                             SmallVector<Value>(op->getResults())))
      if (!getDist(value)) {
        op->emitOpError("has ") << describe(value.getType())
                                << ", which has no distribution; run propagate "
                                   "and assign before localize";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct LocalizePass : stretto::impl::LocalizePassBase<LocalizePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkAssigned(module)))
      return signalPassFailure();
    LocalTypes local;
    Bindings bindings(&getContext());
    for (SegmentOp segment : module.getOps<SegmentOp>())
      localizeSegment(segment, local);
    for (StepOp step : module.getOps<StepOp>())
      localizeStep(step, local, bindings);
  }
};

bool hasEncoding(Type type) {
  if (auto bundle = dyn_cast<TupleType>(type))
    return llvm::any_of(bundle.getTypes(), hasEncoding);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding();
}

struct VerifyLocalPass : stretto::impl::VerifyLocalPassBase<VerifyLocalPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (isa<ReshardOp>(op)) {
        op->emitOpError("is left after localize: ")
            << describe(op->getOperand(0).getType()) << " to "
            << describe(op->getResult(0).getType())
            << "; run plan-reshards before localize";
        return WalkResult::interrupt();
      }
      for (Type type : op->getResultTypes())
        if (hasEncoding(type)) {
          op->emitOpError("has an encoding after localize: ")
              << describe(type) << "; from here on types are local and bare";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
