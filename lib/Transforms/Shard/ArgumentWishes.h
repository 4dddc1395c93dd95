//===- ArgumentWishes.h - what segments say of their arguments --*- C++ -*-===//
//
// Private to the room: how the arguments of a step should lie, read off the
// segments that use them. Instances repeat, so all answers are kept.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_ARGUMENTWISHES_H
#define STRETTO_LIB_TRANSFORMS_SHARD_ARGUMENTWISHES_H

#include "Requests.h"
#include <map>

namespace stretto::shard {

/// What a segment says of an argument; null where it says nothing.
struct ArgumentWish {
  ConstraintAttr constraint;
  mlir::DenseI64ArrayAttr padding;
};

class ArgumentWishes {
public:
  ArgumentWishes(mlir::SymbolTable &symbols, MeshAttr mesh)
      : symbols(symbols), mesh(mesh) {}

  /// As the segment was when it was first asked for.
  llvm::ArrayRef<ArgumentWish> ofSegment(mlir::StringAttr name);

  /// `found` has one entry per tensor of `value`: fills what is still null from
  /// the first segment using the tensor that says it, looking through
  /// micro-batch loops and, for padding, through gathers.
  void collectFromUses(mlir::Value value,
                       llvm::MutableArrayRef<ArgumentWish> found);

  /// Does the invocation only make parameters as they are used?
  bool isGather(InvokeOp invoke);

  /// What the uses of result `index` of a gather say.
  ArgumentWish ofGathered(InvokeOp invoke, unsigned index);

  /// `type` as `wish` has it.
  mlir::FailureOr<mlir::Type> assign(mlir::Location loc, ArgumentWish wish,
                                     mlir::RankedTensorType type);

private:
  mlir::SymbolTable &symbols;
  MeshAttr mesh;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<ArgumentWish>> ofSegments;
  std::map<std::vector<const void *>, mlir::Type> assigned;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_ARGUMENTWISHES_H
