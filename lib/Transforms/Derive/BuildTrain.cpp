//===- BuildTrain.cpp - the training step ---------------------------------===//
//
// counts -> seeds -> all micro-batches forward and backward -> reduce -> finish
// -> update, as lists of invocations.
//
//===----------------------------------------------------------------------===//

#include "OptimizerSegments.h"
#include "StepBuilder.h"
#include "TrainPlan.h"

using namespace mlir;
using namespace stretto;

namespace {
/// A call that declares parameters.
struct Owner {
  CallOp call;
  LayerOp layer;
  SmallVector<OwnedParameter> owned;
  SmallVector<unsigned> parameters; // positions in the list of all parameters
};

class TrainBuilder {
public:
  TrainBuilder(StepContext &context, TrainPlan plan)
      : context(context), plan(std::move(plan)), step(context, "train"),
        optimizer(context.module, context.applied.recipe),
        cotangentSums(context.module) {}

  void build();

private:
  void addArguments(const ForwardPlan &counts);
  void computeSeeds(const ForwardPlan &counts);
  void runMicrobatches();
  void runForward(const TrainPlan::Instance &instance,
                  Environment &environment);
  void runBackward(const TrainPlan::Instance &instance,
                   const Environment &environment,
                   MutableArrayRef<Value> accumulators);
  void addCotangent(Value value, Value cotangent, DictionaryAttr attributes);
  void findOwners();
  Value reduceGradients();
  void finish(Value normSquared);
  void update();
  void addResults();

  StepContext &context;
  TrainPlan plan;
  StepBuilder step;
  OptimizerSegments optimizer;
  CotangentSums cotangentSums;

  SmallVector<Owner> owners;
  Value hyper, gscale, ok;
  SmallVector<Value> counts, inverses, seeds, sums, accumulators;
  // Per parameter, in order of declaration.
  SmallVector<Value> parameters, gradients;
  SmallVector<SmallVector<Value>> moments;
  SmallVector<Value> outputs; // loss, count, grad_norm
  // Of the micro-batch that is being built.
  DenseMap<Operation *, SmallVector<Value>> saved;
  DenseMap<Value, Value> cotangents;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments, counts and seeds
//===----------------------------------------------------------------------===//

void TrainBuilder::addArguments(const ForwardPlan &countPlan) {
  step.addParameters();
  for (unsigned k = 0; k < context.graph.parameters.size(); ++k)
    parameters.push_back(step.f.function.getFunctionBody().getArgument(k));
  for (unsigned k = 0; k < optimizer.numMoments(); ++k)
    moments.push_back(step.addPerParameter("moment" + std::to_string(k + 1)));
  llvm::DenseSet<Value> needed = plan.needed;
  needed.insert(countPlan.getNeeded().begin(), countPlan.getNeeded().end());
  step.addInputs(needed, context.applied.microbatches);
  hyper = step.addHyper();
}

/// Sums of the counts over micro-batches; used by the eval step as well.
static SmallVector<Value> sumCounts(StepBuilder &step,
                                    const ForwardPlan &countPlan) {
  ArrayRef<Value> counts = step.context.loss.counts;
  return step.loop(
      step.context.applied.microbatches, countPlan.getNeeded(),
      step.zeros(ValueRange(counts).getTypes()),
      [&](Environment &environment, MutableArrayRef<Value> carried) {
        DenseMap<Value, Value> totals;
        for (auto [count, total] : llvm::zip(counts, carried))
          totals[count] = total;
        countPlan.emit(step, environment, totals);
        for (auto [count, total] : llvm::zip(counts, carried))
          total = totals.lookup(count);
      });
}

void TrainBuilder::computeSeeds(const ForwardPlan &countPlan) {
  counts = sumCounts(step, countPlan);
  InvokeOp seed = invoke(step.f.b, context.seed, counts, "loss");
  auto results = seed.getResults();
  inverses.assign(results.begin(), results.begin() + counts.size());
  seeds.assign(results.begin() + counts.size(), results.end());
}

//===----------------------------------------------------------------------===//
// The micro-batches
//===----------------------------------------------------------------------===//

void TrainBuilder::runForward(const TrainPlan::Instance &instance,
                              Environment &environment) {
  const LayerDerivative &derivative = *instance.derivative;
  CallOp call = instance.call;
  InvokeOp forward =
      invoke(step.f.b, derivative.forward,
             step.operandsOf(call, derivative.arguments, environment),
             call.getScope());
  for (auto [position, index] : llvm::enumerate(derivative.results))
    environment[call.getResult(index)] = forward.getResult(position);
  saved[call] = llvm::to_vector_of<Value>(
      forward.getResults().take_back(derivative.numSaved));
}

/// Where a value is used twice its cotangents meet in a segment of their own.
void TrainBuilder::addCotangent(Value value, Value cotangent,
                                DictionaryAttr attributes) {
  Value &total = cotangents[value];
  if (!total) {
    total = cotangent;
    return;
  }
  SegmentOp sum = cotangentSums.get(cotangent.getType(), attributes);
  total = invoke(step.f.b, sum, {total, cotangent}, "loss").getResult(0);
}

void TrainBuilder::runBackward(const TrainPlan::Instance &instance,
                               const Environment &environment,
                               MutableArrayRef<Value> accumulators) {
  const LayerDerivative &derivative = *instance.derivative;
  if (!derivative.backward)
    return;
  CallOp call = instance.call;
  SmallVector<Value> operands = saved.lookup(call);
  for (unsigned index : derivative.reusedResults)
    operands.push_back(environment.lookup(call.getResult(index)));
  llvm::append_range(
      operands, step.operandsOf(call, derivative.reusedArguments, environment));
  for (unsigned index : derivative.cotangents)
    operands.push_back(cotangents.lookup(call.getResult(index)));
  for (unsigned slot : instance.accumulators)
    operands.push_back(accumulators[slot]);
  InvokeOp backward =
      invoke(step.f.b, derivative.backward, operands, call.getScope());
  FunctionOpInterface segment = derivative.backward;
  unsigned position = 0;
  for (unsigned argument : derivative.gradients) {
    addCotangent(call.getOperand(argument), backward.getResult(position),
                 segment.getResultAttrDict(position));
    ++position;
  }
  for (unsigned slot : instance.accumulators)
    accumulators[slot] = backward.getResult(position++);
}

void TrainBuilder::runMicrobatches() {
  const LossTerms &loss = context.loss;
  SmallVector<Value> initial;
  for (const TrainPlan::Accumulator &accumulator : plan.accumulators)
    initial.push_back(step.zeros(accumulator.type));
  llvm::append_range(initial, step.zeros(ValueRange(loss.sums).getTypes()));
  SmallVector<Value> totals =
      step.loop(context.applied.microbatches, plan.needed, initial,
                [&](Environment &environment, MutableArrayRef<Value> carried) {
                  auto accumulators =
                      carried.take_front(plan.accumulators.size());
                  auto sums = carried.drop_front(plan.accumulators.size());
                  for (const TrainPlan::Instance &instance : plan.instances)
                    runForward(instance, environment);
                  for (auto [sum, total] : llvm::zip(loss.sums, sums))
                    total = invoke(step.f.b, context.lossAdd,
                                   {environment.lookup(sum), total}, "loss")
                                .getResult(0);
                  for (auto [term, seed] : llvm::zip(loss.terms, seeds))
                    addCotangent(loss.sums[term.sum], seed, DictionaryAttr());
                  for (const TrainPlan::Instance &instance :
                       llvm::reverse(plan.instances))
                    runBackward(instance, environment, accumulators);
                });
  accumulators.assign(totals.begin(),
                      totals.begin() + plan.accumulators.size());
  sums.assign(totals.begin() + plan.accumulators.size(), totals.end());
}

//===----------------------------------------------------------------------===//
// Gradients, norm, update
//===----------------------------------------------------------------------===//

/// Owners come in the order of their calls, as parameters do.
void TrainBuilder::findOwners() {
  for (auto [position, entry] : llvm::enumerate(context.graph.parameters)) {
    const ModelParameter &parameter = entry.second;
    if (owners.empty() || owners.back().call != parameter.owner)
      owners.push_back({parameter.owner, parameter.layer, {}, {}});
    unsigned uses = plan.accumulatorsOf.lookup(entry.first).size();
    owners.back().owned.push_back({parameter.argument, std::max(uses, 1u)});
    owners.back().parameters.push_back(position);
  }
}

/// A parameter that the loss does not depend on has the gradient zero.
Value TrainBuilder::reduceGradients() {
  Value normSquared =
      step.zeros(RankedTensorType::get({}, step.f.b.getF32Type()));
  auto paths =
      llvm::to_vector(llvm::make_first_range(context.graph.parameters));
  for (Owner &owner : owners) {
    SmallVector<Value> operands;
    for (unsigned position : owner.parameters) {
      ArrayRef<unsigned> slots = plan.accumulatorsOf[paths[position]];
      for (unsigned slot : slots)
        operands.push_back(accumulators[slot]);
      if (slots.empty())
        operands.push_back(step.zeros(parameters[position].getType()));
    }
    operands.push_back(normSquared);
    InvokeOp reduce =
        invoke(step.f.b, optimizer.reduce(owner.layer, owner.owned), operands,
               owner.call.getScope());
    auto results = reduce.getResults();
    llvm::append_range(gradients, results.drop_back());
    normSquared = results.back();
  }
  return normSquared;
}

void TrainBuilder::finish(Value normSquared) {
  double clip = context.applied.recipe.optimizer.clip.value_or(0.0);
  SmallVector<Value> operands(sums);
  llvm::append_range(operands, counts);
  llvm::append_range(operands, inverses);
  operands.push_back(normSquared);
  InvokeOp finish =
      invoke(step.f.b, makeFinishSegment(context.module, context.loss, clip),
             operands, "loss");
  constexpr unsigned numOutputs = 3;
  outputs =
      llvm::to_vector_of<Value>(finish.getResults().take_front(numOutputs));
  gscale = finish.getResult(numOutputs);
  ok = finish.getResult(numOutputs + 1);
}

void TrainBuilder::update() {
  for (Owner &owner : owners) {
    SmallVector<Value> operands;
    auto addGroup = [&](ArrayRef<Value> values) {
      for (unsigned position : owner.parameters)
        operands.push_back(values[position]);
    };
    addGroup(parameters);
    addGroup(gradients);
    for (const SmallVector<Value> &moment : moments)
      addGroup(moment);
    operands.append({hyper, gscale, ok});
    InvokeOp update =
        invoke(step.f.b, optimizer.update(owner.layer, owner.owned), operands,
               owner.call.getScope());
    unsigned result = 0;
    for (unsigned position : owner.parameters)
      parameters[position] = update.getResult(result++);
    for (SmallVector<Value> &moment : moments)
      for (unsigned position : owner.parameters)
        moment[position] = update.getResult(result++);
  }
}

void TrainBuilder::addResults() {
  auto addGroup = [&](ArrayRef<Value> values, StringRef kind) {
    for (auto [entry, value] : llvm::zip(context.graph.parameters, values))
      step.f.addResult(value, step.parameterAttributes(entry.first, kind));
  };
  addGroup(parameters, "param");
  for (auto [k, moment] : llvm::enumerate(moments))
    addGroup(moment, "moment" + std::to_string(k + 1));
  addGroup(gradients, "grad");
  step.addOutput(outputs[0], "loss");
  step.addOutput(outputs[1], "count");
  step.addOutput(outputs[2], "grad_norm");
}

void TrainBuilder::build() {
  ForwardPlan countPlan(context, "count", {}, context.loss.counts);
  addArguments(countPlan);
  computeSeeds(countPlan);
  runMicrobatches();
  findOwners();
  finish(reduceGradients());
  update();
  addResults();
  step.f.finish();
}

LogicalResult stretto::buildTrainStep(StepContext &context) {
  FailureOr<TrainPlan> plan =
      TrainPlan::make(context.graph, context.loss, context.segments);
  if (failed(plan))
    return failure();
  TrainBuilder(context, std::move(*plan)).build();
  return success();
}
