//===- CountFlops.cpp - model FLOPs of a training step --------------------===//

#include "stretto/Cost/Passes.h"

#include "stretto/Cost/StepFlops.h"
#include "stretto/Model/Vocabulary.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_COUNTFLOPSPASS
#include "stretto/Cost/Passes.h.inc"
} // namespace stretto

namespace {

struct ModelFlops {
  double full = 0, causal = 0;
};

struct CountFlops : public stretto::impl::CountFlopsPassBase<CountFlops> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto train = symbols.lookup<StepOp>("train");
    if (!train)
      return;
    ModelFlops sum;
    train.walk([&](InvokeOp invoke) {
      auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
      if (!segment || segment.getDirection() != "forward")
        return;
      ModelFlops flops = ofSegment(segment);
      double runs = executionsOf(invoke);
      sum.full += runs * flops.full;
      sum.causal += runs * flops.causal;
    });
    constexpr double forwardAndBackward = 3;
    note("stretto.model_flops", forwardAndBackward * sum.full);
    note("stretto.model_flops_causal", forwardAndBackward * sum.causal);
    noteVocabulary(module);
  }

private:
  ModelFlops ofSegment(SegmentOp segment) {
    auto [found, isNew] = bySegment.try_emplace(segment);
    if (isNew)
      segment.walk([&, flops = &found->second](CostModel op) {
        flops->full += op.getModelFlops(/*causal=*/false);
        flops->causal += op.getModelFlops(/*causal=*/true);
      });
    return found->second;
  }

  void note(StringRef name, double value) {
    Builder builder(&getContext());
    getOperation()->setAttr(name, builder.getF64FloatAttr(value));
  }

  /// Unless the model says it itself.
  void noteVocabulary(ModuleOp module) {
    constexpr StringLiteral name = "stretto.vocabulary";
    int64_t vocabulary = vocabularyOf(module);
    if (vocabulary && !module->hasAttr(name))
      module->setAttr(name,
                      Builder(&getContext()).getI64IntegerAttr(vocabulary));
  }

  llvm::DenseMap<SegmentOp, ModelFlops> bySegment;
};

} // namespace
