//===- Outline.h - groups to kernels and launches ---------------*- C++ -*-===//
//
// Moves every group of a segment into a kernel of the module and leaves a
// launch. What the rank knows at run time becomes scalars of the launch, so
// that kernels equal in structure are one.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_FUSE_OUTLINE_H
#define STRETTO_LIB_TRANSFORMS_FUSE_OUTLINE_H

#include "Grouping.h"
#include "llvm/ADT/StringMap.h"

namespace stretto {

namespace attr {
/// On primitive operations during fusion: what they are a piece of.
constexpr llvm::StringLiteral source = "stretto.source";
} // namespace attr

/// The kernels of a module by structure.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);
  /// Gives `kernel` a name and puts it into the module, or erases it when there
  /// is an equal one. Returns the symbol.
  mlir::FlatSymbolRefAttr add(KernelOp kernel, llvm::StringRef hint);

private:
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::StringAttr> byBody;
  mlir::Operation *last = nullptr;
  unsigned count = 0;
};

mlir::LogicalResult outline(SegmentOp segment, Grouping &grouping,
                            KernelTable &kernels);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_FUSE_OUTLINE_H
