//===- LayerBody.h - a private copy of a layer to work on -------*- C++ -*-===//
//
// A detached clone of a layer with slices of its operations and the attributes
// that its values take to the border of a segment.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_LAYERBODY_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_LAYERBODY_H

#include "FunctionBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "stretto/Transforms/Apply/DimensionNames.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace stretto {

/// What a segment says of a value that stands for the layer's argument.
ValueAttributes argumentAttributesOf(LayerOp layer, unsigned argument,
                                     llvm::StringRef role);
/// Where sums of the parameter's gradients rest, if they are reduced term by
/// term; else null.
ConstraintAttr restOfSums(LayerOp layer, unsigned argument);

class LayerBody {
public:
  enum class Randomness { Keyed, None };
  /// Keyed: random operations get their identities, counted from 1 in order.
  /// None: they are made deterministic.
  LayerBody(LayerOp original, Randomness randomness);

  LayerOp layer() const { return *clone; }
  mlir::Block &block() const;
  mlir::Operation *terminator() const { return block().getTerminator(); }
  mlir::Value result(unsigned index) const {
    return terminator()->getOperand(index);
  }
  unsigned getNumArguments() const { return numArguments; }
  bool isActivation(unsigned argument) const {
    return argument < numActivations;
  }
  /// The layer's own operations, in order.
  llvm::ArrayRef<mlir::Operation *> operations() const { return ownOperations; }

  /// Attributes of layer argument `argument` in a segment.
  ValueAttributes argumentAttributes(unsigned argument) const;
  /// Whether terms of the parameter's gradient are reduced one by one.
  bool reducesTerms(unsigned argument) const;
  ValueAttributes argumentAttributes(unsigned argument,
                                     llvm::StringRef role) const;
  /// Attributes of layer result `index` in a segment.
  ValueAttributes resultAttributes(unsigned index, llvm::StringRef role) const;
  ValueAttributes savedAttributes(mlir::Value value) const;

private:
  void setKeys();
  void removeRandomness();

  mlir::OwningOpRef<LayerOp> clone;
  unsigned numArguments, numActivations;
  llvm::SmallVector<mlir::Operation *> ownOperations;
  std::optional<DimensionNames> names;
};

/// Operations that `roots` depend on, and the block arguments they reach. Where
/// `stop` says so a value is taken as given and put into `given`.
struct Slice {
  llvm::DenseSet<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> arguments, given;

  Slice(mlir::ValueRange roots,
        llvm::function_ref<bool(mlir::Value)> stop = nullptr);
};

/// Clones those operations of `block` that are in `slice`, in order.
void cloneSlice(mlir::OpBuilder &b, mlir::Block &block, const Slice &slice,
                mlir::IRMapping &mapping);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_LAYERBODY_H
