//===- KernelPlan.h - loop nests of a kernel --------------------*- C++ -*-===//
//
// Orders the work of one row into loop nests: a nest computes reductions that
// later nests use, and values worth keeping are written to row temporaries.
// What does not vary along rows is done once, in the prologue.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_FUSE_KERNELPLAN_H
#define STRETTO_TRANSFORMS_FUSE_KERNELPLAN_H

#include "stretto/Transforms/Fuse/KernelGraph.h"

namespace stretto::kernel {

/// Loops over the inner dimensions `axes`; those in `reduced` are innermost.
struct Nest {
  bool prologue = false;
  unsigned level = 0;
  DimMask axes = 0, reduced = 0;
  llvm::SmallVector<Node *> reduces, temps;
  llvm::SmallVector<Root *> roots;
  /// Dimensions to loop over, outermost first.
  llvm::SmallVector<unsigned> keptDims() const;
  llvm::SmallVector<unsigned> reducedDims() const;
};

struct KernelPlan {
  Space space;
  std::vector<Nest> nests; // in order, prologue first
  /// Values kept in a row temporary, with their bytes.
  llvm::DenseMap<Node *, int64_t> temps;

  DimMask innerAxes(const Node *node) const { return node->axes & space.inner; }
  bool isMaterialised(Node *node) const {
    return node->kind == NodeKind::Reduce || temps.count(node);
  }
};

/// Bytes of row temporaries that may lie on the stack.
constexpr int64_t maxTempBytes = 64 << 10;
/// Bytes of reductions that keep inner dimensions.
constexpr int64_t maxArrayBytes = 256 << 10;

/// Fails when a buffer that is updated in place would be read after it is
/// written.
mlir::FailureOr<KernelPlan> planKernel(KernelGraph &graph, Space space,
                                       std::string *why = nullptr);

int64_t bytesOf(Element type);

} // namespace stretto::kernel

#endif // STRETTO_TRANSFORMS_FUSE_KERNELPLAN_H
