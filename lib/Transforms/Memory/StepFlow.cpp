//===- StepFlow.cpp - what a step computes, as expressions ----------------===//

#include "StepFlow.h"

using namespace mlir;
using namespace stretto;
using exec::Meaning;

static StringRef bindingOf(DictionaryAttr attrs) {
  auto binding = attrs ? attrs.getAs<StringAttr>(attr::binding) : StringAttr();
  return binding ? binding.getValue() : StringRef();
}

/// "param:layers.0.wq", "input:tokens" and its micro-batch, "hyper".
static Meaning meaningOfArgument(StepOp step, unsigned argument,
                                 int64_t slice) {
  StringRef binding = bindingOf(step.getArgAttrDict(argument));
  if (binding == "hyper")
    return exec::meaningOfSource("input", "$hyper");
  auto [kind, name] = binding.split(':');
  return exec::meaningOfSource(kind, name, slice);
}

/// Meanings of the results of a call.
static SmallVector<Meaning> evaluate(const StepCall &call,
                                     const SegmentFlow &flow,
                                     ArrayRef<Meaning> arguments) {
  DenseMap<const void *, Meaning> known;
  Block &block = SegmentOp(call.segment).getBody().front();
  for (auto [argument, meaning] : llvm::zip(block.getArguments(), arguments))
    known[argument.getAsOpaquePointer()] = meaning;
  StringRef instance = InvokeOp(call.invoke).getInstance();
  for (const FlowStep &step : flow.steps) {
    SmallVector<Meaning> inputs;
    for (const void *input : step.inputs)
      inputs.push_back(known.lookup(input));
    for (auto [index, output] : llvm::enumerate(step.outputs))
      known[output] = exec::meaningOfResult(step.command, instance,
                                            call.microbatch, inputs, index);
  }
  SmallVector<Meaning> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(known.lookup(value.getAsOpaquePointer()));
  return results;
}

exec::DataFlow stretto::flowOf(StepOp step, const StepCalls &calls,
                               const SegmentFlows &segments) {
  SmallVector<Meaning> meanings;
  for (const StepValue &value : calls.values)
    meanings.push_back(
        value.kind == StepValue::Kind::Zeros ? exec::meaningOfZeros()
        : value.kind == StepValue::Kind::Result
            ? 0
            : meaningOfArgument(step, value.argument, value.slice));
  for (const StepCall &call : calls.calls) {
    SmallVector<Meaning> arguments;
    for (unsigned operand : call.operands)
      arguments.push_back(meanings[operand]);
    auto results =
        evaluate(call, segments.find(call.segment)->second, arguments);
    for (auto [number, meaning] : llvm::zip(call.results, results))
      meanings[number] = meaning;
  }
  exec::DataFlow flow;
  for (auto [index, number] : llvm::enumerate(calls.yields))
    flow[bindingOf(step.getResultAttrDict(index)).str()] = meanings[number];
  return flow;
}
