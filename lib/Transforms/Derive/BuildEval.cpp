//===- BuildEval.cpp - the steps that do not train ------------------------===//

#include "ParameterGather.h"
#include "StepBuilder.h"

using namespace mlir;
using namespace stretto;

/// Outputs have the type that parameters rest in, whatever layers compute in.
static Value inRestType(StepBuilder &step, Value output) {
  const Precision &precision = step.context.precision;
  if (!isFloatTensor(output) || elementOf(output) != precision.getCompute() ||
      !precision.isMixed())
    return output;
  FunctionBuilder f = FunctionBuilder::segment(
      step.context.module, output.getLoc(),
      "output." + Twine(step.f.getNumResults()), "eval");
  ValueAttributes attributes(f.getContext(), role::activation);
  Value argument = f.addArgument(output.getType(), attributes);
  f.addResult(convertTo(f.b, argument, precision.getRest()), attributes);
  return invoke(step.f.b, f.finishSegment(), {output}, "output").getResult(0);
}

/// Counts and sums are added up in one loop: nothing waits for the counts.
void stretto::buildEvalStep(StepContext &context) {
  const LossTerms &loss = context.loss;
  ForwardPlan counts(context, "count", {}, loss.counts);
  ForwardPlan sums(context, "eval", loss.sums, {});
  StepBuilder step(context, "eval");
  step.addParameters();
  llvm::DenseSet<Value> needed = sums.getNeeded();
  needed.insert(counts.getNeeded().begin(), counts.getNeeded().end());
  step.addInputs(needed, context.applied.microbatches);

  ParameterGather gather(step);
  gather.gatherForStep();
  SmallVector<Value> initial = step.zeros(ValueRange(loss.sums).getTypes());
  llvm::append_range(initial, step.zeros(ValueRange(loss.counts).getTypes()));
  SmallVector<Value> operands = step.loop(
      context.applied.microbatches, needed, initial,
      [&](Environment &environment, MutableArrayRef<Value> carried) {
        auto sumTotals = carried.take_front(loss.sums.size());
        auto countTotals = carried.drop_front(loss.sums.size());
        DenseMap<Value, Value> totals;
        for (auto [count, total] : llvm::zip(loss.counts, countTotals))
          totals[count] = total;
        counts.emit(step, gather, environment, totals);
        for (auto [count, total] : llvm::zip(loss.counts, countTotals))
          total = totals.lookup(count);
        sums.emit(step, gather, environment, totals);
        for (auto [sum, total] : llvm::zip(loss.sums, sumTotals))
          total = invoke(step.f.b, context.lossAdd,
                         {environment.lookup(sum), total}, "loss")
                      .getResult(0);
        gather.endMicrobatch();
      });
  InvokeOp seed = invoke(
      step.f.b, context.seed,
      tensorsOf(ArrayRef(operands).take_back(loss.counts.size())), "loss");
  operands.truncate(loss.sums.size());
  llvm::append_range(operands,
                     seed.getResults().take_front(loss.counts.size()));
  InvokeOp finish =
      invoke(step.f.b, makeEvalFinishSegment(context.module, loss),
             tensorsOf(operands), "loss");
  step.addOutput(finish.getResult(0), "loss");
  step.addOutput(seed.getResults().back(), "count");
  step.f.finish();
}

/// One micro-batch; the outputs are carried out of the loop in place of zeros.
void stretto::buildPredictStep(StepContext &context) {
  if (context.graph.outputs.empty())
    return;
  SmallVector<Value> wanted;
  for (OutputOp output : context.graph.outputs)
    wanted.push_back(output.getValue());
  ForwardPlan plan(context, "eval", wanted, {});
  StepBuilder step(context, "predict");
  step.addParameters();
  step.addInputs(plan.getNeeded(), 1);
  ParameterGather gather(step);
  gather.gatherForStep();
  SmallVector<Value> results =
      step.loop(1, plan.getNeeded(), step.zeros(ValueRange(wanted).getTypes()),
                [&](Environment &environment, MutableArrayRef<Value> carried) {
                  DenseMap<Value, Value> none;
                  plan.emit(step, gather, environment, none);
                  for (auto [value, result] : llvm::zip(wanted, carried))
                    result = environment.lookup(value);
                  gather.endMicrobatch();
                });
  for (auto [output, result] : llvm::zip(context.graph.outputs, results))
    step.addOutput(inRestType(step, result), OutputOp(output).getName());
  step.f.finish();
}
