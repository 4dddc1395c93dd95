//===- Derive.cpp - from a model to a training step -----------------------===//

#include "StepBuilder.h"
#include "stretto/Transforms/Apply/VerifyModel.h"
#include "stretto/Transforms/Derive/Passes.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_DERIVEPASS
#include "stretto/Transforms/Derive/Passes.h.inc"
} // namespace stretto

/// What the step needs of the model beyond what reading it checks.
static LogicalResult checkReady(const ModelGraph &graph) {
  auto model = ModelOp(graph.model);
  if (graph.losses.empty())
    return model.emitOpError("has no loss term; add stretto.loss SUM, COUNT");
  for (Type type : model.getArgumentTypes())
    if (!cast<RankedTensorType>(type).hasStaticShape())
      return model.emitOpError("has dynamic shapes; run apply-recipe first");
  for (LossOp loss : graph.losses)
    for (Value value : {loss.getSum(), loss.getCount()})
      if (!value.getDefiningOp<CallOp>())
        return loss.emitOpError("sum and count must be results of calls");
  if (graph.parameters.empty())
    return model.emitOpError("has no parameters: there is nothing to train; a "
                             "layer declares them with params(%w: ...)");
  return success();
}

/// Decides what the plan left open about parameters that rest sharded: one
/// micro-batch is reduced where its gradients are made, so that they are never
/// whole; more of them once per step, which moves the least. Gathered
/// parameters are not kept from one pass to the next.
static void settleResting(ModuleOp module, int64_t microbatches) {
  Builder builder(module.getContext());
  auto word = [&](StringRef text) { return builder.getStringAttr(text); };
  for (auto layer : module.getOps<LayerOp>())
    for (unsigned i = 0; i < layer.getNumArguments(); ++i) {
      auto rest = layer.getArgAttrOfType<DictionaryAttr>(i, attr::rest);
      if (!rest)
        continue;
      NamedAttrList entries(rest);
      if (rest.get("reduce") == word("auto"))
        entries.set("reduce", word(microbatches == 1 ? "microbatch" : "step"));
      if (rest.get("gather") == word("auto"))
        entries.set("gather", word("pass"));
      layer.setArgAttr(i, attr::rest,
                       entries.getDictionary(module.getContext()));
    }
}

static void eraseModel(ModuleOp module, const ModelGraph &graph) {
  ModelOp(graph.model).erase();
  for (auto layer : llvm::make_early_inc_range(module.getOps<LayerOp>()))
    layer.erase();
}

namespace {
struct Derive : stretto::impl::DerivePassBase<Derive> {
  void runOnOperation() override {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module) {
    FailureOr<AppliedRecipe> applied = readRecipeAttribute(module);
    FailureOr<ModelGraph> graph = ModelGraph::read(module);
    if (failed(applied) || failed(graph) || failed(checkReady(*graph)) ||
        failed(verifyNoCoupling(module, *graph)))
      return failure();
    Precision precision(module.getContext(), applied->recipe.precision);
    settleResting(module, applied->microbatches);
    graph = narrowLayers(std::move(*graph), precision);
    if (failed(graph))
      return failure();
    StepContext context(module, *graph, *applied);
    context.seed = makeSeedSegment(module, context.loss);
    context.lossAdd =
        makeLossAddSegment(module, context.loss.sums.front().getType());
    if (failed(buildTrainStep(context)))
      return failure();
    buildEvalStep(context);
    buildPredictStep(context);
    eraseModel(module, *graph);
    return success();
  }
};
} // namespace
