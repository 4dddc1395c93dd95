//===- Unbundle.h - steps with one value per tensor -------------*- C++ -*-===//
//
// Steps pass what belongs to a layer instance as one bundle. Who places every
// tensor by itself (memory planning, the interpreter, reports) takes the
// bundles apart first.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_TRANSFORMS_UNBUNDLE_H
#define STRETTO_DIALECT_STRETTO_TRANSFORMS_UNBUNDLE_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// Replaces every step that has bundles by one that has none: a member NAME of
/// what is bound as "KIND:INSTANCE" is bound as "KIND:INSTANCE.NAME". Steps
/// without bundles stay as they are.
void unbundleSteps(mlir::ModuleOp module);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_TRANSFORMS_UNBUNDLE_H
