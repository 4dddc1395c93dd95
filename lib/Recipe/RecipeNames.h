//===- RecipeNames.h - the words of a recipe --------------------*- C++ -*-===//
//
// The spelling of every choice in a recipe, once, for reading and printing.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_RECIPE_RECIPENAMES_H
#define STRETTO_LIB_RECIPE_RECIPENAMES_H

#include "stretto/Recipe/Recipe.h"
#include <utility>

namespace stretto {

template <typename Enum> using Name = std::pair<llvm::StringRef, Enum>;

inline const Name<FloatKind> floatNames[] = {{"f32", FloatKind::F32},
                                             {"bf16", FloatKind::BF16},
                                             {"f16", FloatKind::F16},
                                             {"f64", FloatKind::F64}};
inline const Name<OptimizerKind> optimizerNames[] = {
    {"adamw", OptimizerKind::AdamW}, {"sgd", OptimizerKind::Sgd}};
inline const Name<DecayKind> decayNames[] = {{"constant", DecayKind::Constant},
                                             {"linear", DecayKind::Linear},
                                             {"cosine", DecayKind::Cosine}};
inline const Name<NonfinitePolicy> nonfiniteNames[] = {
    {"stop", NonfinitePolicy::Stop},
    {"skip", NonfinitePolicy::Skip},
    {"rollback", NonfinitePolicy::Rollback}};

template <typename Enum, size_t n>
llvm::StringRef spell(const Name<Enum> (&names)[n], Enum value) {
  for (const Name<Enum> &name : names)
    if (name.second == value)
      return name.first;
  return "unknown";
}

} // namespace stretto

#endif // STRETTO_LIB_RECIPE_RECIPENAMES_H
