//===- LayerSegments.h - the segments of a layer ----------------*- C++ -*-===//
//
// Makes and remembers the segments of layers: one set for each way in which
// instances use a layer, never one per instance. Each description says what the
// step passes and gets, in terms of the layer's arguments and results.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_LAYERSEGMENTS_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_LAYERSEGMENTS_H

#include "Precision.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Transforms/Derive/SaveChoice.h"
#include "llvm/ADT/BitVector.h"
#include <map>
#include <memory>

namespace stretto {

/// How a step uses a layer in training.
struct TrainingUse {
  llvm::BitVector results;    // that somebody reads
  llvm::BitVector cotangents; // results that have one
  llvm::BitVector active;     // activation arguments that need one
  RecomputePolicy recompute;  // what backward may repeat
};

/// Forward and backward of one TrainingUse. All lists hold indices of layer
/// arguments or results, in the order of the segment's.
struct LayerDerivative {
  SegmentOp forward;
  llvm::SmallVector<unsigned> arguments; // of forward
  llvm::SmallVector<unsigned> results;   // of forward; saved values follow
  unsigned numSaved = 0;
  SaveProblem saving; // the choice that the saved values answer

  SegmentOp backward; // null when there is nothing to differentiate
  // Arguments of backward: saved values, then
  llvm::SmallVector<unsigned> reusedResults, reusedArguments, cotangents,
      accumulators;
  // Results of backward: cotangents of these arguments, then accumulators, then
  // the terms of gradients that are reduced before they are accumulated.
  llvm::SmallVector<unsigned> gradients, terms;
};

/// How a step uses a layer without differentiating.
struct ForwardUse {
  llvm::StringRef direction;   // "eval" or "count"
  llvm::BitVector results;     // that somebody reads
  llvm::BitVector accumulated; // rank-0 results that are added up
};

/// Random operations are deterministic here. Arguments: layer arguments, then
/// one accumulator per accumulated result; results likewise.
struct ForwardSegment {
  SegmentOp segment;
  llvm::SmallVector<unsigned> arguments, results, accumulated;
};

class LayerSegments {
public:
  LayerSegments(mlir::ModuleOp module, const Precision &precision)
      : precision(precision), module(module) {}

  mlir::FailureOr<const LayerDerivative *> derivative(LayerOp layer,
                                                      const TrainingUse &use);
  const ForwardSegment *forward(LayerOp layer, const ForwardUse &use);
  SegmentOp accumulate(LayerOp layer, llvm::ArrayRef<unsigned> arguments);

  const Precision precision;

private:
  using Key = std::vector<unsigned>;
  /// "decoder.fwd"; later ways of using the layer are numbered.
  std::string nameOf(LayerOp layer, llvm::StringRef suffix);

  mlir::ModuleOp module;
  std::map<std::tuple<mlir::Operation *, RecomputePolicy::Key, Key>,
           std::unique_ptr<LayerDerivative>>
      derivatives;
  std::map<std::pair<mlir::Operation *, Key>, std::unique_ptr<ForwardSegment>>
      forwards;
  std::map<std::pair<mlir::Operation *, Key>, SegmentOp> accumulations;
  std::map<std::string, unsigned> names;
};

/// (terms, accumulators) of some parameters of a layer -> accumulators, in
/// place, where the plan lets them rest.
SegmentOp makeAccumulateSegment(mlir::ModuleOp module, LayerOp layer,
                                llvm::ArrayRef<unsigned> arguments,
                                const Precision &precision,
                                llvm::StringRef name);

/// The segments' makers. `name` is the symbol, without suffix for derivatives.
mlir::FailureOr<LayerDerivative>
differentiateLayer(mlir::ModuleOp module, LayerOp layer, const TrainingUse &use,
                   const Precision &precision, llvm::StringRef name);
ForwardSegment makeForwardSegment(mlir::ModuleOp module, LayerOp layer,
                                  const ForwardUse &use, llvm::StringRef name);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_LAYERSEGMENTS_H
