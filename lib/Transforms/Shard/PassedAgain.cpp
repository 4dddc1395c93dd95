//===- PassedAgain.cpp - arguments of forward that backward gathers -------===//

#include "PassedAgain.h"
#include "mlir/IR/Builders.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

//===----------------------------------------------------------------------===//
// Forwards and their backwards
//===----------------------------------------------------------------------===//

/// Within one block an instance has one forward and one backward.
void PassedAgain::collect(Block &block) {
  llvm::DenseMap<StringAttr, InvokeOp> forwards;
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        collect(inner);
    auto invoke = dyn_cast<InvokeOp>(op);
    auto segment =
        invoke ? symbols.lookup<SegmentOp>(invoke.getCallee()) : SegmentOp();
    if (!segment)
      continue;
    if (segment.getDirection() == "forward") {
      Pass &pass = passes[segment];
      pass.isOpen &=
          forwards.try_emplace(invoke.getInstanceAttr(), invoke).second;
      pass.instances.push_back({invoke, InvokeOp()});
    }
    if (segment.getDirection() != "backward")
      continue;
    InvokeOp forward = forwards.lookup(invoke.getInstanceAttr());
    auto callee =
        forward ? symbols.lookup<SegmentOp>(forward.getCallee()) : SegmentOp();
    forwardsOf[segment].insert(callee);
    if (!forward)
      continue;
    Pass &pass = passes[callee];
    pass.isOpen &= !pass.backward || pass.backward == segment;
    pass.backward = segment;
    for (Pair &pair : pass.instances)
      if (pair.first == forward) {
        pass.isOpen &= !pair.second;
        pair.second = invoke;
      }
  }
}

static StringRef roleOf(SegmentOp segment, unsigned argument) {
  auto role = segment.getArgAttrOfType<StringAttr>(argument, attr::role);
  return role ? role.getValue() : StringRef();
}

/// What the value `passed` of the step is in the forward that takes or returns
/// it; null: neither, or a member of a bundle.
static Value madeAs(InvokeOp forward, SegmentOp segment, TensorRef passed) {
  if (passed.member >= 0)
    return {};
  for (auto [i, operand] : llvm::enumerate(forward.getTensorOperands()))
    if (operand.value == passed.value && operand.member < 0)
      return roleOf(segment, i) == "activation"
                 ? Value(segment.getBody().front().getArgument(i))
                 : Value();
  for (auto [i, result] : llvm::enumerate(forward.getTensorResults()))
    if (result.value == passed.value && result.member < 0)
      return segment.getBody().front().getTerminator()->getOperand(i);
  return {};
}

//===----------------------------------------------------------------------===//
// The change
//===----------------------------------------------------------------------===//

/// Has forward a copy from which backward gets all it needs in less time?
bool PassedAgain::pays(SegmentOp forward, Value made, BlockArgument taken) {
  auto type = cast<RankedTensorType>(taken.getType());
  auto seconds = [&](DistAttr from) {
    double total = 0;
    llvm::SmallDenseSet<DistAttr> seen;
    for (Operation *user : taken.getUsers()) {
      auto moved = dyn_cast<ReshardOp>(user);
      DistAttr need = getDist(moved ? moved.getResult() : Value(taken));
      if (need != from && seen.insert(need).second)
        total += planner
                     .plan(from, need, type.getShape(),
                           llvm::divideCeil(type.getElementTypeBitWidth(), 8))
                     .seconds;
    }
    return total;
  };
  double now = seconds(getDist(taken));
  return now > 0 && llvm::any_of(made.getUsers(), [&](Operation *user) {
           auto moved = dyn_cast<ReshardOp>(user);
           if (!moved || getDist(moved.getResult()).isPartial())
             return false;
           return seconds(getDist(moved.getResult())) < now * (1 - 1e-9);
         });
}

/// One more result of `forward`, with the role "saved".
static unsigned addSaved(SegmentOp forward, Value value) {
  Builder b(forward.getContext());
  Operation *yield = forward.getBody().front().getTerminator();
  unsigned index = yield->getNumOperands();
  SmallVector<Attribute> attributes;
  for (unsigned i = 0; i < index; ++i)
    attributes.push_back(forward.getResultAttrDict(i));
  attributes.push_back(b.getDictionaryAttr(
      b.getNamedAttr(attr::role, b.getStringAttr("saved"))));
  yield->insertOperands(index, value);
  forward.setFunctionType(FunctionType::get(forward.getContext(),
                                            forward.getArgumentTypes(),
                                            yield->getOperandTypes()));
  forward.setResAttrsAttr(b.getArrayAttr(attributes));
  return index;
}

/// The invocation with the results that its forward has now.
static InvokeOp withSaved(InvokeOp invoke, Type saved) {
  OpBuilder b(invoke);
  SmallVector<Type> types(invoke.getResultTypes());
  types.push_back(saved);
  auto now = InvokeOp::create(b, invoke.getLoc(), types, invoke.getCallee(),
                              invoke.getOperands(), invoke.getInstance(),
                              invoke.getMembersAttr());
  now->setDiscardableAttrs(invoke->getDiscardableAttrDictionary());
  invoke.replaceAllUsesWith(now.getResults().drop_back());
  invoke.erase();
  return now;
}

void PassedAgain::save(SegmentOp forward, Value made, Pass &pass,
                       unsigned index, unsigned operand) {
  addSaved(forward, made);
  pass.backward.setArgAttr(index, attr::role,
                           StringAttr::get(module.getContext(), "saved"));
  for (auto &[first, second] : pass.instances) {
    first = withSaved(first, made.getType());
    second->setOperand(operand, first.getResults().back());
  }
}

/// All instances must pass the same to backward's argument.
void PassedAgain::visit(SegmentOp forward, Pass &pass) {
  bool isPaired =
      pass.isOpen && pass.backward &&
      llvm::all_of(pass.instances, [](Pair pair) { return bool(pair.second); });
  if (!isPaired || forward->hasAttr(attr::repeatGathers))
    return;
  for (BlockArgument taken : pass.backward.getBody().front().getArguments()) {
    unsigned index = taken.getArgNumber();
    if (roleOf(pass.backward, index) != "activation")
      continue;
    Value made;
    unsigned operand = 0;
    bool isSame = true;
    for (auto [number, pair] : llvm::enumerate(pass.instances)) {
      TensorRef passed = pair.second.getTensorOperands()[index];
      Value now = madeAs(pair.first, forward, passed);
      isSame &= now && (number == 0 || now == made);
      made = now;
      for (OpOperand &use : pair.second->getOpOperands())
        if (use.get() == passed.value)
          operand = use.getOperandNumber();
    }
    bool isOnce = llvm::all_of(pass.instances, [&](Pair pair) {
      return llvm::count(pair.second->getOperands(),
                         pair.second->getOperand(operand)) == 1;
    });
    if (isSame && isOnce && getDist(made) == getDist(taken) &&
        pays(forward, made, taken))
      save(forward, made, pass, index, operand);
  }
}

void PassedAgain::run() {
  for (StepOp step : module.getOps<StepOp>())
    collect(step.getBody().front());
  for (auto &[forward, pass] : passes)
    if (pass.backward && forwardsOf[pass.backward].size() == 1)
      visit(cast<SegmentOp>(forward), pass);
}
