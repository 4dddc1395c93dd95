//===- Unbundle.cpp - steps with one value per tensor ---------------------===//

#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace stretto;

/// The attributes of every tensor of an argument or result list.
static ArrayAttr spellOut(TypeRange types, ArrayAttr attributes) {
  if (!attributes)
    return attributes;
  MLIRContext *context = attributes.getContext();
  SmallVector<Attribute> all;
  for (auto [type, entry] : llvm::zip(types, attributes)) {
    if (!isBundle(type)) {
      all.push_back(entry);
      continue;
    }
    auto bundle = cast<DictionaryAttr>(entry);
    auto members = bundle.getAs<MembersAttr>(attr::members);
    auto binding = bundle.getAs<StringAttr>(attr::binding);
    for (unsigned k = 0; k < members.size(); ++k) {
      NamedAttrList member(members.get(k));
      member.erase("name");
      if (binding)
        member.set(attr::binding,
                   StringAttr::get(context, binding.getValue() + "." +
                                                members.getName(k).getValue()));
      all.push_back(member.getDictionary(context));
    }
  }
  return ArrayAttr::get(context, all);
}

namespace {
class Unbundler {
public:
  explicit Unbundler(StepOp old) : old(old), b(old) {}

  void run() {
    auto step = cast<StepOp>(b.insert(old->cloneWithoutRegions()));
    step.setFunctionType(
        b.getFunctionType(tensorTypesOf(old.getArgumentTypes()),
                          tensorTypesOf(old.getResultTypes())));
    if (ArrayAttr attributes = old.getArgAttrsAttr())
      step.setArgAttrsAttr(spellOut(old.getArgumentTypes(), attributes));
    if (ArrayAttr attributes = old.getResAttrsAttr())
      step.setResAttrsAttr(spellOut(old.getResultTypes(), attributes));
    Block &body = step.getBody().emplaceBlock();
    Block &source = old.getBody().front();
    for (BlockArgument argument : source.getArguments())
      addArgument(body, argument);
    copyBody(source, body);
    old.erase();
  }

private:
  void addArgument(Block &block, BlockArgument old) {
    for (Type type : tensorTypesOf(old.getType()))
      tensors[old].push_back(block.addArgument(type, old.getLoc()));
  }

  Value lookup(TensorRef tensor) {
    return tensors.find(tensor.value)->second[std::max(tensor.member, 0)];
  }
  SmallVector<Value> lookup(ArrayRef<TensorRef> refs) {
    return llvm::map_to_vector(refs,
                               [&](TensorRef ref) { return lookup(ref); });
  }

  /// What the results of `op` are now.
  void replace(Operation *op, ValueRange now) {
    for (Value result : op->getResults()) {
      unsigned count = tensorTypesOf(result.getType()).size();
      llvm::append_range(tensors[result], now.take_front(count));
      now = now.drop_front(count);
    }
  }

  void copyBody(Block &from, Block &to) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&to);
    for (Operation &op : from) {
      if (auto invoke = dyn_cast<InvokeOp>(op))
        copy(invoke);
      else if (auto loop = dyn_cast<MicrobatchesOp>(op))
        copy(loop);
      else if (auto zeros = dyn_cast<ZerosOp>(op))
        copy(zeros);
      else
        copyPlain(&op);
    }
  }

  void copy(InvokeOp op) {
    auto invoke = InvokeOp::create(
        b, op.getLoc(), tensorTypesOf(op.getResultTypes()), op.getCallee(),
        lookup(op.getTensorOperands()), op.getInstance(), ArrayAttr());
    invoke->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    replace(op, invoke.getResults());
  }

  void copy(ZerosOp op) {
    SmallVector<Value> zeros;
    for (Type type : tensorTypesOf(op.getType()))
      zeros.push_back(ZerosOp::create(b, op.getLoc(), type));
    replace(op, zeros);
  }

  void copy(MicrobatchesOp op) {
    auto loop = MicrobatchesOp::create(
        b, op.getLoc(), tensorTypesOf(op.getResultTypes()), op.getCount(),
        lookup(tensorsOf(op.getInputs())), lookup(tensorsOf(op.getCarried())));
    Block &body = loop.getBody().emplaceBlock();
    Block &source = op.getBody().front();
    for (BlockArgument argument : source.getArguments())
      addArgument(body, argument);
    copyBody(source, body);
    replace(op, loop.getResults());
  }

  /// A terminator; or what does not belong in a step, which others will say.
  void copyPlain(Operation *op) {
    OperationState state(op->getLoc(), op->getName(),
                         lookup(tensorsOf(op->getOperands())),
                         tensorTypesOf(op->getResultTypes()), op->getAttrs());
    replace(op, b.create(state)->getResults());
  }

  StepOp old;
  OpBuilder b;
  llvm::DenseMap<Value, SmallVector<Value>> tensors; // of a value
};
} // namespace

static bool hasBundles(StepOp step) {
  auto isOne = [](Type type) { return isBundle(type); };
  return llvm::any_of(step.getArgumentTypes(), isOne) ||
         step.walk([&](Operation *op) {
               return WalkResult(
                   success(llvm::none_of(op->getResultTypes(), isOne)));
             })
             .wasInterrupted();
}

void stretto::unbundleSteps(ModuleOp module) {
  for (StepOp step : llvm::to_vector(module.getOps<StepOp>()))
    if (hasBundles(step))
      Unbundler(step).run();
}
