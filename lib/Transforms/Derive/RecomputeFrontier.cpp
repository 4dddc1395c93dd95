//===- RecomputeFrontier.cpp - what instances could keep ------------------===//

#include "stretto/Transforms/Derive/RecomputeFrontier.h"
#include "TrainPlan.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"

#include <map>

using namespace mlir;
using namespace stretto;

static bool isAutomatic(CallOp call) {
  auto words = call->getAttrOfType<ArrayAttr>(attr::recompute);
  return words && llvm::is_contained(words.getAsValueRange<StringAttr>(),
                                     StringRef("auto"));
}

static std::vector<KeepPoint> pointsOf(const SaveProblem &problem) {
  std::vector<KeepPoint> points;
  for (const SaveChoice &choice : saveFrontier(problem))
    points.push_back({choice.bytes, choice.flops});
  return points;
}

FailureOr<std::vector<InstanceFrontier>>
stretto::recomputeFrontiers(ModuleOp module) {
  // Planning makes segments: in a copy. There every automatic policy keeps all
  // it can, so that operations may be repeated and the question is asked.
  OwningOpRef<ModuleOp> copy = module.clone();
  Builder builder(module.getContext());
  for (ModelOp model : copy->getOps<ModelOp>())
    for (CallOp call : model.getOps<CallOp>())
      if (isAutomatic(call))
        call->setAttr(
            attr::keepBytes,
            builder.getI64IntegerAttr(std::numeric_limits<int64_t>::max()));
  FailureOr<AppliedRecipe> applied = readRecipeAttribute(*copy);
  FailureOr<ModelGraph> graph = ModelGraph::read(*copy);
  if (failed(applied) || failed(graph))
    return failure();
  Precision precision(copy->getContext(), applied->recipe.precision);
  graph = narrowLayers(std::move(*graph), precision);
  if (failed(graph))
    return failure();
  LayerSegments segments(*copy, precision);
  FailureOr<TrainPlan> plan =
      TrainPlan::make(*graph, LossTerms(*graph), segments);
  if (failed(plan))
    return failure();
  std::vector<InstanceFrontier> frontiers;
  std::map<const LayerDerivative *, std::vector<KeepPoint>> known;
  for (const TrainPlan::Instance &instance : plan->instances) {
    CallOp call = instance.call;
    if (!isAutomatic(call) || &instance == &plan->instances.back() ||
        !instance.derivative->backward)
      continue;
    auto [it, fresh] = known.try_emplace(instance.derivative);
    if (fresh)
      it->second = pointsOf(instance.derivative->saving);
    frontiers.push_back({call.getScope().str(), it->second});
  }
  return frontiers;
}
