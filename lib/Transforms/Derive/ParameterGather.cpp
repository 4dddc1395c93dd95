//===- ParameterGather.cpp - parameters made whole for a while ------------===//

#include "ParameterGather.h"

using namespace mlir;
using namespace stretto;

static bool isGatheredPer(FunctionOpInterface layer, unsigned argument,
                          StringRef when) {
  auto rest = layer.getArgAttrOfType<DictionaryAttr>(argument, attr::rest);
  return rest && rest.get("params") &&
         rest.getAs<StringAttr>("gather").getValue() == when;
}

SegmentOp ParameterGather::segmentFor(const ParameterOwner &owner,
                                      const Members &members) {
  LayerOp layer = owner.layer;
  SegmentOp &segment = segments[{layer, members}];
  if (segment)
    return segment;
  FunctionOpInterface function = layer;
  std::string name = (layer.getSymName() + ".gather").str();
  if (step.context.module.lookupSymbol(name))
    name += "." + std::to_string(segments.size());
  FunctionBuilder f =
      FunctionBuilder::segment(step.context.module, layer.getLoc(), name,
                               "gather", layer.getSymNameAttr());
  for (unsigned member : members) {
    unsigned argument = owner.arguments[member];
    ValueAttributes attributes(layer.getContext(), role::param);
    attributes.copy(function.getArgAttrDict(argument),
                    {attr::dims, attr::param});
    Value value = f.addArgument(layer.getArgumentTypes()[argument], attributes);
    f.addResult(value,
                attributes.set(attr::constraint, useOf(function, argument)));
  }
  return segment = f.finishSegment();
}

void ParameterGather::gather(const ParameterOwner &owner, StringRef when) {
  Members members;
  SmallVector<TensorRef> operands;
  for (auto [member, argument] : llvm::enumerate(owner.arguments))
    if (isGatheredPer(owner.layer, argument, when)) {
      members.push_back(member);
      operands.push_back(step.parameters[owner.first + member]);
    }
  if (members.empty())
    return;
  InvokeOp gathered =
      invoke(step.f.b, segmentFor(owner, members), operands,
             CallOp(owner.call).getScope(), {unsigned(members.size())});
  for (auto [member, tensor] :
       llvm::zip(members, tensorsOf(gathered.getResults())))
    step.parameters[owner.first + member] = tensor;
}

void ParameterGather::gatherForStep() {
  for (const ParameterOwner &owner : step.context.owners)
    gather(owner, "step");
  resting = step.parameters;
}

void ParameterGather::gatherForCall(CallOp call) {
  const StepContext &context = step.context;
  auto layer = context.graph.getLayer(call);
  for (unsigned i = call.getOperands().size(); i < layer.getNumArguments();
       ++i) {
    unsigned position = context.graph.positionOf(call, i);
    auto owner = std::prev(llvm::upper_bound(
        context.owners, position,
        [](unsigned p, const ParameterOwner &o) { return p < o.first; }));
    unsigned index = owner - context.owners.begin();
    if (!isGathered.test(index))
      gather(*owner, "microbatch");
    isGathered.set(index);
  }
}

void ParameterGather::endMicrobatch() {
  step.parameters = resting;
  isGathered.reset();
}
