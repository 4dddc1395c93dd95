//===- TrainPlan.h - what every instance does in training -------*- C++ -*-===//
//
// Decides, from the loss backwards, which segments each call of the model runs
// and which accumulators its gradients go to.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_TRAINPLAN_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_TRAINPLAN_H

#include "LayerSegments.h"
#include "ScalarSegments.h"
#include "stretto/Transforms/Apply/ModelGraph.h"
#include "llvm/ADT/DenseSet.h"

namespace stretto {

struct TrainPlan {
  struct Instance {
    CallOp call;
    const LayerDerivative *derivative;
    /// Accumulators that one segment updates, in its order, and the sizes of
    /// the bundles of these.
    struct Sums {
      llvm::SmallVector<unsigned> slots, bundles;
    };
    Sums ofBackward, ofTerms;
  };
  std::vector<Instance> instances;    // in forward order
  llvm::DenseSet<mlir::Value> needed; // values of the model

  /// Types of the accumulators: one per parameter and way of using it, a tied
  /// parameter has several.
  llvm::SmallVector<mlir::Type> accumulators;
  /// By position of the parameter.
  llvm::SmallVector<llvm::SmallVector<unsigned>> accumulatorsOf;
  /// Sizes of the runs of accumulators that the same instances add to, one
  /// after the other: each run is one bundle.
  llvm::SmallVector<unsigned> bundles;

  static mlir::FailureOr<TrainPlan>
  make(const ModelGraph &graph, const LossTerms &loss, LayerSegments &segments);
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_TRAINPLAN_H
