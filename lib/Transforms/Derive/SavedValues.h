//===- SavedValues.h - what a layer's backward keeps of forward -*- C++ -*-===//
//
// States the choice of SaveChoice.h for the operations of one layer, under the
// recompute policy of the instances.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_SAVEDVALUES_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_SAVEDVALUES_H

#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "llvm/ADT/DenseSet.h"

namespace stretto {

/// The results of `operations` that backward takes as given. `required`: those
/// that it reads; `kept`: those that the step keeps in any case. Constants and
/// index arithmetic on arguments are done again, never kept.
llvm::DenseSet<mlir::Value>
chooseSavedValues(llvm::ArrayRef<mlir::Operation *> operations,
                  const llvm::DenseSet<mlir::Value> &required,
                  const llvm::DenseSet<mlir::Value> &kept,
                  const RecomputePolicy &policy);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_SAVEDVALUES_H
