//===- ExchangeBlocks.h - the local part of an all-to-all -------*- C++ -*-===//
//
// The command all-to-all splits the major dimension and concatenates on the
// minor one, block k going to member k. In the other order the blocks for the
// members do not lie in one piece each, and with another order of members not
// in their order: a transposition on the rank brings them together before.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_EXCHANGEBLOCKS_H
#define STRETTO_TRANSFORMS_MEMORY_EXCHANGEBLOCKS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// Sizes of the operand seen as [outer, before, members, block]: `before` is
/// what lies between the concatenated dimension (included) and the split one.
struct ExchangeBlocks {
  int64_t outer = 1, before = 1, members = 1, block = 1;
  /// How the blocks are numbered, major to minor, and the order of these digits
  /// by which members are numbered. Empty: in the same way.
  llvm::SmallVector<int64_t> digits, order;

  static ExchangeBlocks of(AllToAllOp op);
  /// Whether the blocks must be moved before they are sent.
  bool needsMove() const { return before > 1 || !order.empty(); }
};

/// The kernel [outer, before, blocks, block] -> [outer, members, before, block]
/// of the module, made when it is not there yet.
KernelOp moveBlocksKernel(mlir::ModuleOp module, const ExchangeBlocks &blocks,
                          mlir::Type element);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_EXCHANGEBLOCKS_H
