//===- ApplyRecipe.h - the recipe on a module -------------------*- C++ -*-===//
//
// The recipe as the module attribute `stretto.recipe`, and the binding of the
// model's `batch` and `seq` dimensions to numbers.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_APPLYRECIPE_H
#define STRETTO_TRANSFORMS_APPLY_APPLYRECIPE_H

#include "mlir/IR/BuiltinOps.h"
#include "stretto/Recipe/Recipe.h"

namespace stretto {

/// What a module says about its training.
struct AppliedRecipe {
  Recipe recipe;
  int64_t microbatches = 1;

  /// Samples of one micro-batch, all ranks together.
  int64_t samplesPerMicrobatch() const {
    return recipe.globalBatch / microbatches;
  }
};

/// The recipe as a dictionary, every entry spelled out; clip 0 = no clipping.
mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context,
                                 const AppliedRecipe &applied);

/// Reads `stretto.recipe` of `module`; entries that are missing have their
/// defaults, unknown ones are an error. An absent attribute is all defaults.
mlir::FailureOr<AppliedRecipe> readRecipeAttribute(mlir::ModuleOp module);

/// Sets `stretto.recipe` and replaces the dynamic dimensions of layers and
/// model. The global batch must be a multiple of `microbatches`.
mlir::LogicalResult applyRecipe(mlir::ModuleOp module, const Recipe &recipe,
                                int64_t microbatches);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_APPLYRECIPE_H
