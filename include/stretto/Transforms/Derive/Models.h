//===- Models.h - interface models that Derive attaches ---------*- C++ -*-===//
//
// The adjoints of the dialect's operations and the randomness of those that
// draw, attached as external models: a tool registers them, passes ask them.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_DERIVE_MODELS_H
#define STRETTO_TRANSFORMS_DERIVE_MODELS_H

#include "mlir/IR/DialectRegistry.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

#include "stretto/Transforms/Derive/RandomInterface.h.inc"

namespace stretto {

/// `Differentiable` for every operation that can have a gradient. A model that
/// cannot give one diagnoses it and returns no values.
void registerDifferentiableModels(mlir::DialectRegistry &registry);

/// `RandomDraw` for dropout and attention.
void registerRandomModels(mlir::DialectRegistry &registry);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_DERIVE_MODELS_H
