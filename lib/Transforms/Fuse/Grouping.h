//===- Grouping.h - which operations become one kernel ----------*- C++ -*-===//
//
// Partitions the primitive operations of a segment into groups. Every group can
// be one kernel (KernelGraph says so) and groups with the other operations have
// no cycle.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_FUSE_GROUPING_H
#define STRETTO_LIB_TRANSFORMS_FUSE_GROUPING_H

#include "stretto/Transforms/Fuse/KernelPlan.h"

namespace stretto {

/// Stays an operation of its own: a library call, a collective, the terminator.
bool isCommand(mlir::Operation *op);

struct Group {
  /// In program order.
  llvm::SmallVector<mlir::Operation *> members;
  /// Members and copies of the cheap operations that they use, operands first.
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<kernel::Output> outputs;
};

/// Groups in an order in which they, with the commands between, can run; each
/// unit is a group index or a command.
struct Unit {
  int group = -1;
  mlir::Operation *command = nullptr;
};

struct Grouping {
  std::vector<Group> groups;
  std::vector<Unit> order;
};

/// Diagnoses operations that cannot be in a kernel.
mlir::FailureOr<Grouping> groupOperations(SegmentOp segment);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_FUSE_GROUPING_H
