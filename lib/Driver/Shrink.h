//===- Shrink.h - a small model with the same divisibility ------*- C++ -*-===//
//
// Private to the room. The reference interpreter cannot run big models; a small
// one that divides over the mesh exactly as the big one does exercises the same
// distributions, padding and collectives.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_SHRINK_H
#define STRETTO_LIB_DRIVER_SHRINK_H

#include "mlir/IR/BuiltinOps.h"
#include "stretto/Plan/Plan.h"
#include "stretto/Recipe/Recipe.h"

namespace stretto::driver {

/// Floating-point operations of one training step of the model, roughly: six
/// per parameter and token.
double trainingFlops(mlir::ModuleOp module, const Recipe &recipe);

/// Makes named dimensions, batch, sequence and the number of instances per
/// layer small, keeping for every dimension whether the axes that the plan
/// gives it divide it and whether they outnumber it. Returns what changed
/// ("embed 256 -> 16, …"), empty when nothing did.
std::string shrink(mlir::ModuleOp module, Recipe &recipe, const Plan &plan,
                   int64_t microbatches);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_SHRINK_H
