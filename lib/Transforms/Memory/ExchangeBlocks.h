//===- ExchangeBlocks.h - the local part of an all-to-all -------*- C++ -*-===//
//
// The command all-to-all splits the major dimension and concatenates on the
// minor one. In the other order the blocks for the members do not lie in one
// piece each: a transposition on the rank brings them together before.
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

  static ExchangeBlocks of(AllToAllOp op);
  /// Whether the blocks must be moved before they are sent.
  bool needsMove() const { return before > 1; }
};

/// The kernel [outer, before, members, block] -> [outer, members, before,
/// block] of the module, made when it is not there yet.
KernelOp moveBlocksKernel(mlir::ModuleOp module, const ExchangeBlocks &blocks,
                          mlir::Type element);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_EXCHANGEBLOCKS_H
