//===- TrainPlan.cpp - what every instance does in training ---------------===//

#include "TrainPlan.h"

using namespace mlir;
using namespace stretto;
using llvm::BitVector;

namespace {
class Planner {
public:
  Planner(const ModelGraph &graph, LayerSegments &segments)
      : graph(graph), segments(segments) {}

  LogicalResult run(const LossTerms &loss);
  TrainPlan plan;

private:
  void findActiveValues();
  const LayerFlow &flowOf(LayerOp layer);
  FailureOr<TrainingUse> useOf(CallOp call) const;
  LogicalResult planCall(CallOp call);
  void assignAccumulators(const TrainPlan::Instance &instance,
                          ArrayRef<unsigned> arguments,
                          TrainPlan::Instance::Sums &sums);
  void bundleAccumulators();

  const ModelGraph &graph;
  LayerSegments &segments;
  llvm::DenseSet<Value> active;        // depend on a parameter
  llvm::DenseSet<Value> withCotangent; // and the loss depends on them
  DenseMap<Operation *, std::unique_ptr<LayerFlow>> flows;
  // By position of the parameter, backward segment and its argument.
  DenseMap<std::tuple<unsigned, Operation *, unsigned>, unsigned> slots;
};
} // namespace

const LayerFlow &Planner::flowOf(LayerOp layer) {
  std::unique_ptr<LayerFlow> &flow = flows[layer];
  if (!flow)
    flow = std::make_unique<LayerFlow>(layer, LayerFlow::Differentiable);
  return *flow;
}

void Planner::findActiveValues() {
  for (CallOp call : graph.calls) {
    const LayerFlow &flow = flowOf(graph.getLayer(call));
    unsigned activations = call.getOperands().size();
    for (auto [index, result] : llvm::enumerate(call.getResults()))
      for (unsigned argument : flow.argumentsOfResult(index).set_bits())
        if (argument >= activations ||
            active.contains(call.getOperand(argument)))
          active.insert(result);
  }
}

FailureOr<TrainingUse> Planner::useOf(CallOp call) const {
  FailureOr<RecomputePolicy> recompute = RecomputePolicy::of(call);
  if (failed(recompute))
    return failure();
  TrainingUse use{BitVector(call.getNumResults()),
                  BitVector(call.getNumResults()),
                  BitVector(call.getOperands().size()), *recompute};
  for (auto [index, result] : llvm::enumerate(call.getResults())) {
    use.results[index] = plan.needed.contains(result);
    use.cotangents[index] = withCotangent.contains(result);
  }
  for (auto [index, operand] : llvm::enumerate(call.getOperands()))
    use.active[index] = active.contains(operand);
  return use;
}

/// Calls are visited last to first, so every reader of a result is known.
LogicalResult Planner::planCall(CallOp call) {
  FailureOr<TrainingUse> use = useOf(call);
  if (failed(use))
    return failure();
  if (use->results.none())
    return success();
  // Backward begins where forward ends: what the last instance saves is used at
  // once, and repeating it would save nothing.
  if (plan.instances.empty())
    use->recompute = RecomputePolicy();
  auto derivative = segments.derivative(graph.getLayer(call), *use);
  if (failed(derivative))
    return failure();
  unsigned activations = call.getOperands().size();
  auto need = [&](ArrayRef<unsigned> arguments) {
    for (unsigned i : arguments)
      if (i < activations)
        plan.needed.insert(call.getOperand(i));
  };
  need((*derivative)->arguments);
  need((*derivative)->reusedArguments);
  for (unsigned i : (*derivative)->gradients)
    withCotangent.insert(call.getOperand(i));
  plan.instances.push_back({call, *derivative, {}, {}});
  return success();
}

void Planner::assignAccumulators(const TrainPlan::Instance &instance,
                                 ArrayRef<unsigned> arguments,
                                 TrainPlan::Instance::Sums &sums) {
  for (unsigned argument : arguments) {
    unsigned position = graph.positionOf(instance.call, argument);
    auto [it, fresh] =
        slots.try_emplace({position, instance.derivative->backward, argument},
                          plan.accumulators.size());
    if (fresh) {
      plan.accumulatorsOf[position].push_back(plan.accumulators.size());
      plan.accumulators.push_back(segments.precision.gradient(
          graph.parameters.begin()[position].second.type));
    }
    sums.slots.push_back(it->second);
  }
}

/// Two accumulators share a bundle when every instance that adds to one adds to
/// the other right after it.
void Planner::bundleAccumulators() {
  BitVector starts(plan.accumulators.size());
  SmallVector<TrainPlan::Instance::Sums *> updates;
  for (TrainPlan::Instance &instance : plan.instances)
    updates.append({&instance.ofBackward, &instance.ofTerms});
  for (const TrainPlan::Instance::Sums *sums : updates) {
    ArrayRef<unsigned> slots = sums->slots;
    for (unsigned k = 0; k < slots.size(); ++k) {
      if (k == 0 || slots[k - 1] + 1 != slots[k])
        starts.set(slots[k]);
      if ((k + 1 == slots.size() || slots[k] + 1 != slots[k + 1]) &&
          slots[k] + 1 < starts.size())
        starts.set(slots[k] + 1);
    }
  }
  for (unsigned slot = 0; slot < starts.size(); ++slot) {
    if (slot == 0 || starts[slot])
      plan.bundles.push_back(0);
    ++plan.bundles.back();
  }
  for (TrainPlan::Instance::Sums *sums : updates)
    for (unsigned slot : sums->slots) {
      if (sums->bundles.empty() || starts[slot])
        sums->bundles.push_back(0);
      ++sums->bundles.back();
    }
}

LogicalResult Planner::run(const LossTerms &loss) {
  findActiveValues();
  for (Value sum : loss.sums) {
    plan.needed.insert(sum);
    if (active.contains(sum))
      withCotangent.insert(sum);
  }
  for (CallOp call : llvm::reverse(graph.calls))
    if (failed(planCall(call)))
      return failure();
  std::reverse(plan.instances.begin(), plan.instances.end());
  plan.accumulatorsOf.resize(graph.parameters.size());
  for (TrainPlan::Instance &instance : plan.instances) {
    const LayerDerivative &derivative = *instance.derivative;
    assignAccumulators(instance, derivative.accumulators, instance.ofBackward);
    assignAccumulators(instance, derivative.terms, instance.ofTerms);
  }
  bundleAccumulators();
  return success();
}

FailureOr<TrainPlan> TrainPlan::make(const ModelGraph &graph,
                                     const LossTerms &loss,
                                     LayerSegments &segments) {
  Planner planner(graph, segments);
  if (failed(planner.run(loss)))
    return failure();
  return std::move(planner.plan);
}
