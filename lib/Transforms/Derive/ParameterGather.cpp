//===- ParameterGather.cpp - working copies of parameters -----------------===//

#include "ParameterGather.h"

using namespace mlir;
using namespace stretto;

static DictionaryAttr restOf(FunctionOpInterface layer, unsigned argument) {
  return layer.getArgAttrOfType<DictionaryAttr>(argument, attr::rest);
}

static bool isGatheredPer(DictionaryAttr rest, StringRef when) {
  return rest.get("params") &&
         rest.getAs<StringAttr>("gather").getValue() == when;
}

/// Where the parameter itself rests.
static Attribute masterOf(FunctionOpInterface layer, unsigned argument) {
  DictionaryAttr rest = restOf(layer, argument);
  Attribute master = rest ? rest.get("master") : Attribute();
  return master ? master : Attribute(useOf(layer, argument));
}

/// Where the copy lies that lasts for a step, or null: it is the parameter.
/// `isMixed`: the copy is of another type.
static Attribute copyForStep(FunctionOpInterface layer, unsigned argument,
                             bool isMixed) {
  DictionaryAttr rest = restOf(layer, argument);
  Attribute params = rest ? rest.get("params") : Attribute();
  Attribute copy = params && !isGatheredPer(rest, "step")
                       ? params
                       : Attribute(useOf(layer, argument));
  return isMixed || masterOf(layer, argument) != copy ? copy : Attribute();
}

/// Where the parameter lies of which a copy is made that lies as `copy`.
static Attribute restBefore(FunctionOpInterface layer, unsigned argument,
                            Attribute copy) {
  DictionaryAttr rest = restOf(layer, argument);
  if (!rest)
    return {};
  Attribute params = rest.get("params");
  return params && params != copy && !isGatheredPer(rest, "step")
             ? params
             : rest.get("master");
}

SegmentOp ParameterGather::segmentFor(const ParameterOwner &owner,
                                      ArrayRef<GatheredMember> members,
                                      bool isCopyForStep) {
  LayerOp layer = owner.layer;
  const Precision &precision = step.context.precision;
  SegmentOp &segment =
      step.context.gathers[{layer, std::vector<GatheredMember>(members)}];
  if (segment)
    return segment;
  FunctionOpInterface function = layer;
  std::string name = (layer.getSymName() + ".gather").str();
  if (step.context.module.lookupSymbol(name))
    name += "." + std::to_string(step.context.gathers.size());
  FunctionBuilder f =
      FunctionBuilder::segment(step.context.module, layer.getLoc(), name,
                               "gather", layer.getSymNameAttr());
  for (auto [member, copy] : members) {
    unsigned argument = owner.arguments[member];
    ValueAttributes attributes(layer.getContext(), role::param);
    attributes.copy(function.getArgAttrDict(argument),
                    {attr::dims, attr::param});
    Attribute wanted = Attribute::getFromOpaquePointer(copy);
    Type type = layer.getArgumentTypes()[argument];
    ValueAttributes resting = attributes;
    resting.set(attr::rest, restBefore(function, argument, wanted));
    if (isCopyForStep && precision.isMixed()) // converted where it rests
      resting.set(attr::constraint, masterOf(layer, argument));
    Value value =
        f.addArgument(isCopyForStep ? precision.master(type) : type, resting);
    f.addResult(convertTo(f.b, value, elementOf(type)),
                attributes.set(attr::constraint, wanted));
  }
  return segment = f.finishSegment();
}

void ParameterGather::gather(const ParameterOwner &owner,
                             ArrayRef<GatheredMember> members, StringRef when,
                             bool isCopyForStep) {
  if (members.empty())
    return;
  SmallVector<TensorRef> operands;
  for (auto [member, copy] : members)
    operands.push_back(step.parameters[owner.first + member]);
  InvokeOp gathered =
      invoke(step.f.b, segmentFor(owner, members, isCopyForStep), operands,
             CallOp(owner.call).getScope(), {unsigned(members.size())});
  if (!when.empty())
    gathered->setAttr(attr::gather, step.f.b.getStringAttr(when));
  for (auto [member, tensor] :
       llvm::zip(members, tensorsOf(gathered.getResults())))
    step.parameters[owner.first + member.first] = tensor;
}

void ParameterGather::gatherForStep() {
  for (const ParameterOwner &owner : step.context.owners) {
    SmallVector<GatheredMember> copies, chosen;
    for (auto [member, argument] : llvm::enumerate(owner.arguments))
      if (Attribute copy = copyForStep(owner.layer, argument,
                                       step.context.precision.isMixed())) {
        DictionaryAttr rest = restOf(owner.layer, argument);
        bool choice = rest && isGatheredPer(rest, "step");
        (choice ? chosen : copies)
            .push_back({member, copy.getAsOpaquePointer()});
      }
    gather(owner, copies, "", /*isCopyForStep=*/true);
    gather(owner, chosen, "step", /*isCopyForStep=*/true);
  }
  resting = step.parameters;
}

const ParameterOwner &ParameterGather::ownerOf(unsigned position) const {
  return *std::prev(llvm::upper_bound(
      step.context.owners, position,
      [](unsigned p, const ParameterOwner &o) { return p < o.first; }));
}

void ParameterGather::gatherForPass(CallOp call, ArrayRef<unsigned> arguments) {
  const StepContext &context = step.context;
  std::map<const ParameterOwner *, SmallVector<GatheredMember>> forPass;
  for (unsigned i : arguments) {
    if (i < call.getOperands().size())
      continue;
    unsigned position = context.graph.positionOf(call, i);
    const ParameterOwner &owner = ownerOf(position);
    gatherForMicrobatch(owner);
    unsigned member = position - owner.first;
    unsigned argument = owner.arguments[member];
    DictionaryAttr rest = restOf(owner.layer, argument);
    if (rest && isGatheredPer(rest, "pass"))
      forPass[&owner].push_back(
          {member, useOf(owner.layer, argument).getAsOpaquePointer()});
  }
  kept = step.parameters;
  for (auto &[owner, members] : forPass) {
    llvm::sort(members);
    members.erase(llvm::unique(members), members.end());
    gather(*owner, members, "pass");
  }
}

void ParameterGather::gatherForMicrobatch(const ParameterOwner &owner) {
  unsigned index = &owner - step.context.owners.begin();
  if (isGathered.test(index))
    return;
  isGathered.set(index);
  SmallVector<GatheredMember> members;
  for (auto [member, argument] : llvm::enumerate(owner.arguments))
    if (DictionaryAttr rest = restOf(owner.layer, argument);
        rest && isGatheredPer(rest, "microbatch"))
      members.push_back(
          {member, useOf(owner.layer, argument).getAsOpaquePointer()});
  gather(owner, members, "microbatch");
}

void ParameterGather::endMicrobatch() {
  step.parameters = resting;
  isGathered.reset();
}
