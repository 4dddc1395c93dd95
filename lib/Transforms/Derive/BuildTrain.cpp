//===- BuildTrain.cpp - the training step ---------------------------------===//
//
// counts -> seeds -> all micro-batches forward and backward -> reduce -> finish
// -> update, as lists of invocations.
//
//===----------------------------------------------------------------------===//

#include "OptimizerSegments.h"
#include "ParameterGather.h"
#include "StepBuilder.h"
#include "TrainPlan.h"

using namespace mlir;
using namespace stretto;

namespace {
class TrainBuilder {
public:
  TrainBuilder(StepContext &context, TrainPlan plan)
      : context(context), plan(std::move(plan)), step(context, "train"),
        optimizer(context.module, context.applied.recipe, context.precision),
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
                   MutableArrayRef<TensorRef> accumulators);
  void accumulateTerms(const TrainPlan::Instance &instance,
                       ArrayRef<TensorRef> terms,
                       MutableArrayRef<TensorRef> accumulators);
  void addCotangent(Value value, Value cotangent, DictionaryAttr attributes);
  SmallVector<OwnedParameter> ownedBy(const ParameterOwner &owner) const;
  Value reduceGradients();
  void finish(Value normSquared);
  void update();
  void addResults();

  StepContext &context;
  TrainPlan plan;
  StepBuilder step;
  OptimizerSegments optimizer;
  CotangentSums cotangentSums;

  ParameterGather gather{step};
  Value hyper, count, gscale, ok, loss, gradNorm;
  SmallVector<Value> counts, inverses, seeds, sums;
  SmallVector<TensorRef> accumulators;
  // Per parameter, in order of declaration.
  SmallVector<TensorRef> parameters, gradients;
  SmallVector<SmallVector<TensorRef>> moments;
  // Of the micro-batch that is being built.
  DenseMap<Operation *, SmallVector<TensorRef>> saved;
  DenseMap<Value, Value> cotangents;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments, counts and seeds
//===----------------------------------------------------------------------===//

void TrainBuilder::addArguments(const ForwardPlan &countPlan) {
  step.addParameters();
  parameters = step.parameters;
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
  ParameterGather none(step); // counts need no parameter
  return step.loop(
      step.context.applied.microbatches, countPlan.getNeeded(),
      step.zeros(ValueRange(counts).getTypes()),
      [&](Environment &environment, MutableArrayRef<Value> carried) {
        DenseMap<Value, Value> totals;
        for (auto [count, total] : llvm::zip(counts, carried))
          totals[count] = total;
        countPlan.emit(step, none, environment, totals);
        for (auto [count, total] : llvm::zip(counts, carried))
          total = totals.lookup(count);
      });
}

void TrainBuilder::computeSeeds(const ForwardPlan &countPlan) {
  counts = sumCounts(step, countPlan);
  InvokeOp seed = invoke(step.f.b, context.seed, tensorsOf(counts), "loss");
  auto results = seed.getResults();
  inverses.assign(results.begin(), results.begin() + counts.size());
  seeds.assign(results.begin() + counts.size(), std::prev(results.end()));
  count = results.back();
}

//===----------------------------------------------------------------------===//
// The micro-batches
//===----------------------------------------------------------------------===//

void TrainBuilder::runForward(const TrainPlan::Instance &instance,
                              Environment &environment) {
  const LayerDerivative &derivative = *instance.derivative;
  CallOp call = instance.call;
  gather.gatherForPass(call, derivative.arguments);
  SmallVector<unsigned> groups(derivative.results.size(), 1);
  if (derivative.numSaved)
    groups.push_back(derivative.numSaved);
  InvokeOp forward =
      invoke(step.f.b, derivative.forward,
             step.operandsOf(call, derivative.arguments, environment),
             call.getScope(), groups);
  gather.endPass();
  for (auto [position, index] : llvm::enumerate(derivative.results))
    environment[call.getResult(index)] = forward.getResult(position);
  saved[call] =
      tensorsOf(forward.getResults().drop_front(derivative.results.size()));
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
                               MutableArrayRef<TensorRef> accumulators) {
  const LayerDerivative &derivative = *instance.derivative;
  if (!derivative.backward)
    return;
  CallOp call = instance.call;
  gather.gatherForPass(call, derivative.reusedArguments);
  SmallVector<TensorRef> operands = saved.lookup(call);
  for (unsigned index : derivative.reusedResults)
    operands.push_back(environment.lookup(call.getResult(index)));
  llvm::append_range(
      operands, step.operandsOf(call, derivative.reusedArguments, environment));
  for (unsigned index : derivative.cotangents)
    operands.push_back(cotangents.lookup(call.getResult(index)));
  for (unsigned slot : instance.ofBackward.slots)
    operands.push_back(accumulators[slot]);
  SmallVector<unsigned> groups(derivative.gradients.size(), 1);
  llvm::append_range(groups, instance.ofBackward.bundles);
  if (!derivative.terms.empty())
    groups.push_back(derivative.terms.size());
  InvokeOp backward =
      invoke(step.f.b, derivative.backward, operands, call.getScope(), groups);
  gather.endPass();
  FunctionOpInterface segment = derivative.backward;
  unsigned position = 0;
  for (unsigned argument : derivative.gradients) {
    addCotangent(call.getOperand(argument), backward.getResult(position),
                 segment.getResultAttrDict(position));
    ++position;
  }
  SmallVector<TensorRef> sums =
      tensorsOf(backward.getResults().drop_front(position));
  for (auto [slot, sum] : llvm::zip(instance.ofBackward.slots, sums))
    accumulators[slot] = sum;
  accumulateTerms(instance, ArrayRef(sums).take_back(derivative.terms.size()),
                  accumulators);
}

/// Terms that are reduced one by one, in a segment of their own: that can go on
/// while the next backward computes.
void TrainBuilder::accumulateTerms(const TrainPlan::Instance &instance,
                                   ArrayRef<TensorRef> terms,
                                   MutableArrayRef<TensorRef> accumulators) {
  if (terms.empty())
    return;
  CallOp call = instance.call;
  SmallVector<TensorRef> operands(terms);
  for (unsigned slot : instance.ofTerms.slots)
    operands.push_back(accumulators[slot]);
  SegmentOp segment = context.segments.accumulate(context.graph.getLayer(call),
                                                  instance.derivative->terms);
  InvokeOp sums = invoke(step.f.b, segment, operands, call.getScope(),
                         instance.ofTerms.bundles);
  for (auto [slot, sum] :
       llvm::zip(instance.ofTerms.slots, tensorsOf(sums.getResults())))
    accumulators[slot] = sum;
}

void TrainBuilder::runMicrobatches() {
  const LossTerms &loss = context.loss;
  gather.gatherForStep();
  SmallVector<Value> initial;
  TypeRange types(plan.accumulators);
  for (unsigned size : plan.bundles) {
    initial.push_back(step.zeros(bundleType(types.take_front(size))));
    types = types.drop_front(size);
  }
  llvm::append_range(initial, step.zeros(ValueRange(loss.sums).getTypes()));
  SmallVector<Value> totals =
      step.loop(context.applied.microbatches, plan.needed, initial,
                [&](Environment &environment, MutableArrayRef<Value> carried) {
                  auto bundles = carried.take_front(plan.bundles.size());
                  auto sums = carried.drop_front(plan.bundles.size());
                  SmallVector<TensorRef> accumulators = tensorsOf(bundles);
                  for (const TrainPlan::Instance &instance : plan.instances) {
                    runForward(instance, environment);
                  }
                  for (auto [sum, total] : llvm::zip(loss.sums, sums))
                    total = invoke(step.f.b, context.lossAdd,
                                   {environment.lookup(sum), total}, "loss")
                                .getResult(0);
                  for (auto [term, seed] : llvm::zip(loss.terms, seeds))
                    addCotangent(loss.sums[term.sum], seed, DictionaryAttr());
                  for (const TrainPlan::Instance &instance :
                       llvm::reverse(plan.instances))
                    runBackward(instance, environment, accumulators);
                  // Every backward returns whole bundles.
                  unsigned slot = 0;
                  for (auto [bundle, size] : llvm::zip(bundles, plan.bundles)) {
                    bundle = accumulators[slot].value;
                    slot += size;
                  }
                  gather.endMicrobatch();
                });
  accumulators = tensorsOf(ArrayRef(totals).take_front(plan.bundles.size()));
  sums.assign(totals.begin() + plan.bundles.size(), totals.end());
}

//===----------------------------------------------------------------------===//
// Gradients, norm, update
//===----------------------------------------------------------------------===//

SmallVector<OwnedParameter>
TrainBuilder::ownedBy(const ParameterOwner &owner) const {
  SmallVector<OwnedParameter> owned;
  for (auto [k, argument] : llvm::enumerate(owner.arguments)) {
    unsigned uses = plan.accumulatorsOf[owner.first + k].size();
    owned.push_back({argument, std::max(uses, 1u)});
  }
  return owned;
}

/// In the order in which backward makes gradients: those of the last instance
/// are there first. A parameter that the loss does not depend on has the
/// gradient zero.
Value TrainBuilder::reduceGradients() {
  Value normSquared =
      step.zeros(RankedTensorType::get({}, step.f.b.getF32Type()));
  gradients.resize(parameters.size());
  for (const ParameterOwner &owner : llvm::reverse(context.owners)) {
    SmallVector<TensorRef> operands;
    for (unsigned k = 0; k < owner.size(); ++k) {
      ArrayRef<unsigned> slots = plan.accumulatorsOf[owner.first + k];
      for (unsigned slot : slots)
        operands.push_back(accumulators[slot]);
      if (slots.empty())
        operands.push_back(step.zeros(
            context.precision.gradient(parameters[owner.first + k].getType())));
    }
    StringRef scope = CallOp(owner.call).getScope();
    SmallVector<OwnedParameter> owned = ownedBy(owner);
    InvokeOp reduce = invoke(step.f.b, optimizer.reduce(owner.layer, owned),
                             operands, scope, {owner.size()});
    SmallVector<TensorRef> reduced = tensorsOf(reduce.getResults());
    llvm::copy(reduced, gradients.begin() + owner.first);
    reduced.push_back(normSquared);
    normSquared =
        invoke(step.f.b, optimizer.norm(owner.layer, owned), reduced, scope)
            .getResult(0);
  }
  return normSquared;
}

void TrainBuilder::finish(Value normSquared) {
  double clip = context.applied.recipe.optimizer.clip.value_or(0.0);
  SmallVector<Value> operands(sums);
  llvm::append_range(operands, inverses);
  operands.push_back(normSquared);
  InvokeOp finish =
      invoke(step.f.b, makeFinishSegment(context.module, context.loss, clip),
             tensorsOf(operands), "loss");
  loss = finish.getResult(0);
  gradNorm = finish.getResult(1);
  gscale = finish.getResult(2);
  ok = finish.getResult(3);
}

void TrainBuilder::update() {
  for (const ParameterOwner &owner : context.owners) {
    SmallVector<TensorRef> operands;
    auto own = [&](MutableArrayRef<TensorRef> tensors) {
      return tensors.slice(owner.first, owner.size());
    };
    llvm::append_range(operands, own(parameters));
    llvm::append_range(operands, own(gradients));
    for (SmallVector<TensorRef> &moment : moments)
      llvm::append_range(operands, own(moment));
    operands.append({hyper, gscale, ok});
    SmallVector<unsigned> groups(1 + moments.size(), owner.size());
    InvokeOp update =
        invoke(step.f.b, optimizer.update(owner.layer, ownedBy(owner)),
               operands, CallOp(owner.call).getScope(), groups);
    llvm::copy(tensorsOf(update.getResult(0)), own(parameters).begin());
    for (auto [k, moment] : llvm::enumerate(moments))
      llvm::copy(tensorsOf(update.getResult(k + 1)), own(moment).begin());
  }
}

void TrainBuilder::addResults() {
  step.addResultPerParameter(parameters, "param");
  for (auto [k, moment] : llvm::enumerate(moments))
    step.addResultPerParameter(moment, "moment" + std::to_string(k + 1));
  step.addResultPerParameter(gradients, "grad");
  step.addOutput(loss, "loss");
  step.addOutput(count, "count");
  step.addOutput(gradNorm, "grad_norm");
}

void TrainBuilder::build() {
  ForwardPlan countPlan(context, "count", {}, context.loss.counts);
  addArguments(countPlan);
  computeSeeds(countPlan);
  runMicrobatches();
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
