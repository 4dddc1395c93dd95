//===- ScalarSegments.h - loss arithmetic between layers --------*- C++ -*-===//
//
// The small segments of a step that belong to no layer: turning counts into
// seeds, adding loss sums, the final loss and clipping factor, and the sum of
// cotangents that meet at a value.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_SCALARSEGMENTS_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_SCALARSEGMENTS_H

#include "FunctionBuilder.h"
#include "stretto/Transforms/Apply/ModelGraph.h"

namespace stretto {

/// The loss = sum over terms of weight * sum / count, over distinct values.
struct LossTerms {
  struct Term {
    unsigned sum, count; // into `sums` and `counts`
    double weight;
  };
  llvm::SmallVector<mlir::Value> sums, counts; // values of the model
  llvm::SmallVector<Term> terms;

  explicit LossTerms(const ModelGraph &graph);
};

/// @seed: counts (summed over the batch) -> per count inv = 1/count or 0, then
/// per term weight * inv, then the count of the first term: reduced once, for
/// the seeds and for the report.
SegmentOp makeSeedSegment(mlir::ModuleOp module, const LossTerms &loss);

/// @loss.add: (sum, total) -> total + sum, in place.
SegmentOp makeLossAddSegment(mlir::ModuleOp module, mlir::Type type);

/// @finish: sums, invs, normsq -> loss, grad_norm, gscale, ok. `clip` 0: no
/// clipping.
SegmentOp makeFinishSegment(mlir::ModuleOp module, const LossTerms &loss,
                            double clip);
/// @finish.eval: sums, invs -> loss.
SegmentOp makeEvalFinishSegment(mlir::ModuleOp module, const LossTerms &loss);

/// Sums of two cotangents, one segment per kind of value.
class CotangentSums {
public:
  explicit CotangentSums(mlir::ModuleOp module) : module(module) {}
  /// `like` is the result or argument attributes of one of them.
  SegmentOp get(mlir::Type type, mlir::DictionaryAttr like);

private:
  mlir::ModuleOp module;
  llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>, SegmentOp> made;
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_SCALARSEGMENTS_H
