//===- SavedValues.h - what a layer's backward keeps of forward -*- C++ -*-===//
//
// States the choice of SaveChoice.h for the operations of one layer, under the
// recompute policy of the instances.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_SAVEDVALUES_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_SAVEDVALUES_H

#include "LocalElements.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Transforms/Derive/SaveChoice.h"
#include "llvm/ADT/DenseSet.h"

namespace stretto {

/// The choice of one layer, in terms of its values.
class SavedValues {
public:
  /// `required`: the results of `operations` that backward reads; `kept`: those
  /// that the step keeps in any case. Constants and index arithmetic on
  /// arguments are done again, never kept. Bytes are those that `local` tells
  /// of a rank.
  SavedValues(llvm::ArrayRef<mlir::Operation *> operations,
              const llvm::DenseSet<mlir::Value> &required,
              const llvm::DenseSet<mlir::Value> &kept,
              const RecomputePolicy &policy, const LocalElements &local);

  /// The results that backward takes as given, under the policy: the fewest
  /// bytes; of an automatic one the fewest FLOPs within its bytes.
  llvm::DenseSet<mlir::Value> choose() const;
  const SaveProblem &getProblem() const { return problem; }

private:
  std::optional<int64_t> keepBytes;
  SaveProblem problem;
  llvm::SmallVector<mlir::Value> values; // by number
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_SAVEDVALUES_H
