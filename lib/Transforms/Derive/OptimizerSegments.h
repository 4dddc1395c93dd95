//===- OptimizerSegments.h - gradients to new parameters --------*- C++ -*-===//
//
// The reduce and update segments: per owner of parameters, the final gradients
// with their share of the norm, and the optimizer's update in place.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_OPTIMIZERSEGMENTS_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_OPTIMIZERSEGMENTS_H

#include "FunctionBuilder.h"
#include "Precision.h"
#include "stretto/Recipe/Recipe.h"
#include <map>

namespace stretto {

/// A parameter that an owner declares.
struct OwnedParameter {
  unsigned argument;        // of the owner's layer
  unsigned numAccumulators; // one per segment that uses it

  bool operator<(const OwnedParameter &other) const {
    return std::tie(argument, numAccumulators) <
           std::tie(other.argument, other.numAccumulators);
  }
};

class OptimizerSegments {
public:
  OptimizerSegments(mlir::ModuleOp module, const Recipe &recipe,
                    const Precision &precision)
      : module(module), optimizer(recipe.optimizer), precision(precision) {}

  /// Moments that the optimizer keeps of every parameter.
  unsigned numMoments() const {
    return optimizer.kind == OptimizerKind::AdamW ? 2 : 1;
  }

  /// Accumulators of every parameter -> gradients.
  SegmentOp reduce(LayerOp layer, llvm::ArrayRef<OwnedParameter> owned);
  /// (gradients, normsq) -> normsq'. Apart from `reduce`, so that sums over
  /// ranks stand together and can go on while others are computed.
  SegmentOp norm(LayerOp layer, llvm::ArrayRef<OwnedParameter> owned);
  /// (parameters, gradients, first moments, [second moments,] hyper, gscale,
  /// ok)
  /// -> (parameters, first moments[, second moments]), in place.
  SegmentOp update(LayerOp layer, llvm::ArrayRef<OwnedParameter> owned);

private:
  using Owned = std::vector<OwnedParameter>;
  using Cache = std::map<std::pair<mlir::Operation *, Owned>, SegmentOp>;
  static Owned withoutAccumulators(llvm::ArrayRef<OwnedParameter> owned);
  FunctionBuilder open(LayerOp layer, llvm::StringRef direction);
  llvm::SmallVector<mlir::Value> step(FunctionBuilder &f, LayerOp layer,
                                      unsigned argument,
                                      llvm::ArrayRef<mlir::Value> operands);

  mlir::ModuleOp module;
  Recipe::Optimizer optimizer;
  Precision precision;
  Cache reduces, norms, updates;
  std::map<std::string, unsigned> names;
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_OPTIMIZERSEGMENTS_H
