//===- Reasons.h - why a value moves ----------------------------*- C++ -*-===//
//
// Private to the room: the sentence that a reshard keeps for explain.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_REASONS_H
#define STRETTO_LIB_TRANSFORMS_SHARD_REASONS_H

#include "stretto/Dialect/Stretto/Analysis/DimClasses.h"

namespace stretto::shard {

class Reasons {
public:
  explicit Reasons(SegmentOp segment) : segment(segment), classes(segment) {}

  /// "einsum result: sum over {tp} -> seq on {tp}; for add; seq: tp at
  /// plan.yaml:7:61". `planCauses`: the lines behind the consumer's decision;
  /// the ones that speak of the axes that change are kept.
  std::string describe(mlir::Value value, DistAttr target,
                       const llvm::Twine &consumer,
                       llvm::StringRef planCauses) const;

private:
  std::string nameOf(mlir::Value value) const;
  std::string dimensionName(mlir::Value value, unsigned dim) const;

  mutable SegmentOp segment;
  DimClasses classes;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_REASONS_H
