//===- MoveCost.h - what a choice of axes costs -----------------*- C++ -*-===//
//
// Private to the room: an estimate of the seconds that moving a value takes,
// for choosing between wishes that exclude each other. The plan of a reshard
// itself is searched elsewhere; here only the order of the choices matters.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_MOVECOST_H
#define STRETTO_LIB_TRANSFORMS_SHARD_MOVECOST_H

#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Transforms/Shard/Links.h"

namespace stretto::shard {

using DimAxes = llvm::SmallVector<llvm::SmallVector<AxisRef>>;

class MoveCost {
public:
  explicit MoveCost(const Links &links) : links(links) {}

  /// Seconds to bring a value of `type` from lying on `from` to lying on `to`
  /// (axes per dimension): axes that disappear are gathered, axes that change
  /// the dimension are exchanged, axes that appear cost nothing.
  double move(mlir::RankedTensorType type, const DimAxes &from,
              const DimAxes &to) const;

  /// Seconds to make a partial sum over `axes` whole on a value that lies on
  /// `dims`; `scattered` axes are kept as shards and cost half.
  double reduce(mlir::RankedTensorType type, const DimAxes &dims,
                llvm::ArrayRef<AxisRef> axes,
                llvm::ArrayRef<AxisRef> scattered) const;

  /// Seconds to make it whole in one all-reduce over all of `axes`.
  double reduceTogether(mlir::RankedTensorType type, const DimAxes &dims,
                        llvm::ArrayRef<AxisRef> axes) const;

  /// Seconds of `flops` on one rank.
  double compute(double flops) const;

private:
  Links links;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_MOVECOST_H
