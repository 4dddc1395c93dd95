//===- Precision.h - the types that a step computes in ----------*- C++ -*-===//
//
// What the recipe's `precision` means for types: parameters rest in f32, layers
// compute in their own float type on copies of them, gradients are added up and
// reduced in types of their own. Losses, counts and statistics stay in f32.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_PRECISION_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_PRECISION_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Recipe/Recipe.h"
#include "stretto/Transforms/Apply/ModelGraph.h"

namespace stretto {

/// Element type of a tensor.
mlir::Type elementOf(mlir::Type tensor);
inline mlir::Type elementOf(mlir::Value value) {
  return elementOf(value.getType());
}
/// Is the value a tensor of floats?
bool isFloatTensor(mlir::Value value);
/// `value` with another element type, converted at the builder if need be.
mlir::Value convertTo(mlir::OpBuilder &b, mlir::Value value, mlir::Type element,
                      bool roundsParts = false);
mlir::RankedTensorType withElement(mlir::Type tensor, mlir::Type element);

class Precision {
public:
  Precision(mlir::MLIRContext *context, const Recipe::Precision &recipe);

  /// Do layers compute in another type than parameters rest in?
  bool isMixed() const { return compute != rest; }
  mlir::Type getRest() const { return rest; }
  mlir::Type getCompute() const { return compute; }
  mlir::Type getReduce() const { return reduce; }
  mlir::Type getGradients() const { return gradients; }

  /// The type of what belongs to a parameter that layers read as `type`.
  mlir::Type master(mlir::Type type) const { return instead(type, rest); }
  mlir::Type gradient(mlir::Type type) const {
    return instead(type, gradients);
  }
  /// What is summed over ranks before it is added to a gradient.
  mlir::Type term(mlir::Type type) const { return instead(type, reduce); }

  /// The sum over ranks of `parts` (of the type of gradients or of `reduce`),
  /// placed as `constraint` says: taken in the type of `reduce`, returned in
  /// that of gradients. Where these are one type the parts are returned.
  mlir::Value reduceAt(mlir::OpBuilder &b, mlir::Value parts,
                       ConstraintAttr constraint) const;

private:
  /// Floats of other types than the recipe's are left alone.
  mlir::Type instead(mlir::Type tensor, mlir::Type element) const;

  mlir::Type rest, compute, gradients, reduce;
};

/// Makes the layers of a model compute in `precision`: parameters and
/// activations have its type, rank-0 values (losses, counts) and what the model
/// gets as floats stay as they are, and so do the statistics from which losses
/// are summed. A layer that is called with several types is copied for each.
/// Returns the model as it is then.
mlir::FailureOr<ModelGraph> narrowLayers(ModelGraph graph,
                                         const Precision &precision);

/// Makes sums of narrow values wide where they are made instead of converting
/// what was rounded.
class Widener {
public:
  /// `shared`: also values that others read, for which they are converted back.
  Widener(mlir::Type narrow, mlir::Type wide, bool shared)
      : narrow(narrow), wide(wide), shared(shared) {}

  /// `value` in the wide type. Others than the caller's operand still read what
  /// they did; a value that only the caller holds may change its type.
  mlir::Value widen(mlir::Value value);

private:
  mlir::Value make(mlir::Value value);
  mlir::Value widenSum(mlir::Value value);
  mlir::Value widenOperands(mlir::Operation *op);

  mlir::Type narrow, wide;
  bool shared;
  llvm::DenseMap<mlir::Value, mlir::Value> done;
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_PRECISION_H
