//===- Permutation.h - members of a group counted anew ----------*- C++ -*-===//
//
// Two lists of the same axes in different orders number the members of a group
// in two ways; going from one to the other is a permutation in closed form.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_PERMUTATION_H
#define STRETTO_DIALECT_STRETTO_IR_PERMUTATION_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// For every member of `group` in order, its index counted by the axes of `to`.
/// As long as the group: for those who run on ranks, not for the compiler.
llvm::SmallVector<int64_t> membersBy(GroupAttr group, GroupAttr to);

/// Cuts both lists into the same sub-axes; false when they cannot be, as 6 cut
/// into 2 x 3 and into 3 x 2.
bool cutAlike(llvm::SmallVectorImpl<AxisRef> &a,
              llvm::SmallVectorImpl<AxisRef> &b);

/// Neighbours in one list that stand where neighbours in another do, with the
/// same product.
struct AxisRun {
  llvm::SmallVector<AxisRef> from, to;
};
/// Cuts two lists of one product into runs, as short as their digits allow.
llvm::SmallVector<AxisRun> runsOf(llvm::ArrayRef<AxisRef> from,
                                  llvm::ArrayRef<AxisRef> to);

/// Which part of the members have the same index in both orders. Costs nothing
/// in the sizes of the axes as long as their digits align.
double keptShare(MeshAttr mesh, llvm::ArrayRef<AxisRef> group,
                 llvm::ArrayRef<AxisRef> to);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_PERMUTATION_H
