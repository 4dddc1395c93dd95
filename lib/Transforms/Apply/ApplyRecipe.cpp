//===- ApplyRecipe.cpp - the recipe on a module ---------------------------===//

#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "BindShapes.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Apply/Passes.h"
#include "stretto/Transforms/Apply/VerifyModel.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_APPLYRECIPEPASS
#include "stretto/Transforms/Apply/Passes.h.inc"
} // namespace stretto

LogicalResult stretto::applyRecipe(ModuleOp module, const Recipe &recipe,
                                   int64_t microbatches) {
  if (microbatches < 1 || recipe.globalBatch % microbatches != 0)
    return module.emitError()
           << "global batch " << recipe.globalBatch << " does not split into "
           << microbatches << " micro-batches; choose a divisor";
  AppliedRecipe applied{recipe, microbatches};
  if (failed(bindShapes(module,
                        {applied.samplesPerMicrobatch(), recipe.sequence})))
    return failure();
  module->setAttr(attr::recipe, toAttribute(module.getContext(), applied));
  return verifyPositions(module);
}

namespace {
struct ApplyRecipe : stretto::impl::ApplyRecipePassBase<ApplyRecipe> {
  using ApplyRecipePassBase::ApplyRecipePassBase;

  void runOnOperation() override {
    FailureOr<AppliedRecipe> applied = read();
    if (failed(applied))
      return signalPassFailure();
    int64_t count = microbatches > 0 ? microbatches : applied->microbatches;
    if (failed(applyRecipe(getOperation(), applied->recipe, count)))
      signalPassFailure();
  }

private:
  FailureOr<AppliedRecipe> read() {
    FailureOr<AppliedRecipe> applied = readRecipeAttribute(getOperation());
    if (failed(applied) || file.empty())
      return applied;
    Diagnostics diagnostics;
    FailureOr<Recipe> recipe = readRecipe(file, diagnostics);
    diagnostics.print(llvm::errs());
    if (failed(recipe))
      return failure();
    applied->recipe = *recipe;
    return applied;
  }
};
} // namespace
