//===- Distribution.h - from factor axes to distributions -------*- C++ -*-===//
//
// The arithmetic between a sharding rule and distributions: which axes every
// factor holds, and what each operand and result looks like in consequence.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_DISTRIBUTION_H
#define STRETTO_DIALECT_STRETTO_IR_DISTRIBUTION_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// What every factor of an operation holds.
struct Placement {
  llvm::SmallVector<llvm::SmallVector<AxisRef>> axes; // per factor
  llvm::SmallVector<int64_t>
      padded; // per factor: extent incl. padding, 0 = none

  llvm::SmallVector<int64_t> sizes; // per factor: logical extent

  explicit Placement(const OpRule &rule)
      : axes(rule.factors.size()), padded(rule.factors.size(), 0) {
    for (const Factor &factor : rule.factors)
      sizes.push_back(factor.size);
  }
};

/// The axes that `a` or `b` cover, as sub-axes that do not overlap; sub-axes
/// whose digits do not align become the whole axis.
llvm::SmallVector<AxisRef> uniteAxes(MeshAttr mesh, llvm::ArrayRef<AxisRef> a,
                                     llvm::ArrayRef<AxisRef> b);

/// What `axes` cover beyond `minus` (sub-axes whose digits align).
llvm::SmallVector<AxisRef> subtractAxes(llvm::ArrayRef<AxisRef> axes,
                                        llvm::ArrayRef<AxisRef> minus);

/// Splits `axes` (major to minor) over factors of `sizes` (major to minor): a
/// factor is filled before the next gets any; axes are cut into sub-axes as
/// needed. Fails when they do not fit (a cut that is no divisor).
mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<AxisRef>>>
splitAxes(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<int64_t> sizes);

/// The axes of dimension `dim` of `dist` by its factors. In a compound
/// dimension padding is that of whole units of the first factor, and no other
/// part may need padding: fails then.
mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<AxisRef>>>
splitDim(DistAttr dist, unsigned dim, llvm::ArrayRef<unsigned> factors,
         const OpRule &rule);

/// The distribution of a value whose dimensions are made of `dims`, without
/// partial state.
DistAttr distributionOf(MeshAttr mesh, const DimFactors &dims,
                        const Placement &placement);

/// Axes over which `result` of the operation is partial because it lacks a
/// sharded reduction factor, with the kind.
llvm::SmallVector<AxisRef> reductionAxes(const OpRule &rule, unsigned result,
                                         const Placement &placement,
                                         ReduceKind &kind);

/// Padded extent of the first of the `factors` that dimension `dim` is made of,
/// in units of it; 0 = none.
int64_t paddedUnits(DistAttr dist, unsigned dim,
                    llvm::ArrayRef<unsigned> factors,
                    llvm::ArrayRef<int64_t> sizes);

/// Reads the placement off the encodings of `op`; fails when they contradict
/// the rule.
mlir::FailureOr<Placement> readPlacement(mlir::Operation *op,
                                         const OpRule &rule);

/// Is there a way from one distribution to the other? There is, on one mesh,
/// but to a partial maximum or the like that is not there already.
bool canReshard(DistAttr from, DistAttr to);

/// Would an operation with this rule take values that lie so?
mlir::LogicalResult checkDistributions(const OpRule &rule,
                                       llvm::ArrayRef<DistAttr> operands,
                                       llvm::ArrayRef<DistAttr> results);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_DISTRIBUTION_H
