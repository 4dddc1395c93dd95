//===- RecipeFields.h - the recipe's fields by name -------------*- C++ -*-===//
//
// One list for both directions between `stretto.recipe` and the Program.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_RECIPEFIELDS_H
#define STRETTO_PROGRAM_RECIPEFIELDS_H

namespace stretto {

template <typename RecipeTable, typename Visitor>
void visitRecipe(RecipeTable &recipe, Visitor visit) {
  visit("global_batch", recipe.global_batch);
  visit("sequence", recipe.sequence);
  visit("microbatches", recipe.microbatches);
  visit("steps", recipe.steps);
  visit("seed", recipe.seed);
  visit("lr", recipe.lr);
  visit("min_lr", recipe.min_lr);
  visit("warmup", recipe.warmup);
  visit("decay", recipe.decay);
  visit("decay_steps", recipe.decay_steps);
  visit("beta1", recipe.beta1);
  visit("beta2", recipe.beta2);
  visit("epsilon", recipe.epsilon);
  visit("weight_decay", recipe.weight_decay);
  visit("clip", recipe.clip);
  visit("optimizer", recipe.optimizer);
  visit("nonfinite", recipe.nonfinite);
  visit("eval_every", recipe.eval_every);
  visit("eval_fraction", recipe.eval_fraction);
}

} // namespace stretto

#endif // STRETTO_PROGRAM_RECIPEFIELDS_H
