//===- Resting.h - where a parameter's state rests --------------*- C++ -*-===//
//
// ZeRO as distributions: the axes of the plan's `zero` rules become minor axes
// of one or more dimensions of what rests between steps (parameters, gradient
// accumulators, reduced gradients and optimizer state), whichever cut pads
// least, so that every shard is a box of logical coordinates.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_RESTING_H
#define STRETTO_TRANSFORMS_APPLY_RESTING_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Plan/Plan.h"
#include "llvm/ADT/DenseSet.h"

namespace stretto {

/// `use` (null: replicated) with `axes` added as minor axes of dimensions of a
/// tensor of `shape`. Every axis is cut into sub-axes over the dimensions such
/// that the largest shard has the fewest elements; among equals, into the
/// fewest shards (replicated rather than empty) on the fewest dimensions, those
/// that `use` does not split, major ones first.
/// Axes that `use` holds already are not added. Null when nothing was added:
/// the tensor has too few elements or the axes have size 1. `cause` names the
/// plan line.
ConstraintAttr restOn(mlir::MLIRContext *context, const Plan &plan,
                      ConstraintAttr use, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<std::string> axes, llvm::StringRef cause);

/// What the last `zero` rule that matches says for the parameter at `path`, as
/// the attribute `stretto.rest` of a layer's argument: a dictionary of the
/// constraints `state` (reduced gradients and moments), `grads` (accumulators)
/// and `params`, each only where it is not how the parameter is used, and the
/// words `reduce` and `gather` (see ZeroRule). Null when all rest as used.
mlir::DictionaryAttr restingOf(mlir::MLIRContext *context, const Plan &plan,
                               llvm::StringRef path, ConstraintAttr use,
                               llvm::ArrayRef<int64_t> shape);

/// Says of every rule that asks for something, but is not among `effective`
/// (those that let some parameter's state rest apart), why.
void warnOfRulesWithoutEffect(const Plan &plan,
                              const llvm::DenseSet<const ZeroRule *> &effective,
                              Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_RESTING_H
