//===- Padding.h - where padding is known to be zero ------------*- C++ -*-===//
//
// Private to the room. Padding of parameters, gradients, cotangents and inputs
// is zero by contract at segment borders; inside, linearity carries it on.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_PADDING_H
#define STRETTO_LIB_TRANSFORMS_SHARD_PADDING_H

#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "llvm/ADT/DenseMap.h"

namespace stretto::shard {

class PaddingState {
public:
  explicit PaddingState(SegmentOp segment) : segment(segment) {}

  /// Is every element past the logical extent of `dim` known to be zero? True
  /// when the dimension is not padded.
  bool isZero(mlir::Value value, unsigned dim);

private:
  bool compute(mlir::Value value, unsigned dim);
  bool ofArgument(mlir::BlockArgument argument);

  SegmentOp segment;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, bool> known;
};

/// Is the factor a part of a dimension that has others too? Such a part cannot
/// be padded alone: its neighbours would shift.
bool isPartOfCompound(const OpRule &rule, unsigned factor);

/// The dimension of a value that is exactly factor `factor`, if any.
std::optional<unsigned> dimOfFactor(const DimFactors &dims, unsigned factor);

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_PADDING_H
