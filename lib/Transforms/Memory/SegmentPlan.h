//===- SegmentPlan.h - where the values of a segment live -------*- C++ -*-===//
//
// Every tensor of a fused segment becomes a buffer: one of the segment's memory
// arguments, or a range of its scratch. Values that are updated in place share
// a buffer; what must be kept is copied before.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_SEGMENTPLAN_H
#define STRETTO_TRANSFORMS_MEMORY_SEGMENTPLAN_H

#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace stretto {

/// Which memory argument every result of a segment is: an argument of the
/// tensor function when it is updated in place, else one after those.
struct ResultPlacement {
  llvm::SmallVector<unsigned> argument;   ///< per result
  llvm::SmallVector<bool> updatesOperand; ///< per result
  unsigned numArguments = 0;

  /// From `stretto.alias`; in direction "reduce" a gradient also takes the
  /// accumulator it is made of, which nobody needs afterwards.
  static mlir::FailureOr<ResultPlacement> of(SegmentOp segment);
};

struct Buffer {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;      ///< commands that touch it, copies included
  std::optional<unsigned> argument; ///< else scratch
  uint64_t offset = 0;              ///< in scratch
  unsigned number = 0;              ///< in scratch: of the first value it holds
  unsigned versions = 1;            ///< values it holds one after another
};

/// A copy of whole buffers; `value` is what lies in `from`, when it has a name.
struct BufferCopy {
  unsigned from, to;
  mlir::Value value;
};

/// The plan of one segment. Time t is the t-th operation of the body; the
/// terminator's time is the end.
class SegmentPlan {
public:
  static mlir::FailureOr<SegmentPlan> make(SegmentOp segment);

  const Buffer &bufferOf(mlir::Value value) const {
    return buffers[byValue.lookup(value)];
  }
  const Buffer &buffer(unsigned index) const { return buffers[index]; }
  /// Tells `value` from others that lie in the same bytes of scratch: an update
  /// in place makes the next number.
  unsigned numberOf(mlir::Value value) const {
    return bufferOf(value).number + versions.lookup(value);
  }
  /// Copies to do before the operation (or, for the terminator, at the end).
  llvm::ArrayRef<BufferCopy> copiesBefore(mlir::Operation *op) const;
  /// Extra memory of one operation (the workspace of
  /// attention, the blocks of an all-to-all in order), or null.
  const Buffer *workspaceOf(mlir::Operation *op) const;
  /// The operand whose storage `result` takes over, or -1.
  static int tiedOperand(mlir::OpResult result);

  const ResultPlacement &placement() const { return results; }
  /// Nothing is done: every result is the storage of an operand, as it is.
  bool isEmpty(SegmentOp segment) const;
  uint64_t scratchBytes() const { return scratch; }

private:
  friend class SegmentPlanner;
  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<mlir::Value, unsigned> byValue;
  llvm::DenseMap<mlir::Value, unsigned> versions; ///< updates in place so far
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<BufferCopy>> copies;
  llvm::DenseMap<mlir::Operation *, unsigned> workspaces;
  ResultPlacement results;
  uint64_t scratch = 0;
};

/// Bytes of workspace that `op` needs beside operands and results.
uint64_t workspaceBytes(mlir::Operation *op);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_SEGMENTPLAN_H
