//===- StepFlow.h - values across the segments of a step --------*- C++ -*-===//
//
// Private to the room: follows a value of the distributed IR back through
// segments, invocations and micro-batch loops, and forward through collectives.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_STEPFLOW_H
#define STRETTO_LIB_DRIVER_STEPFLOW_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace stretto::driver {

using Operations = llvm::SetVector<mlir::Operation *>;

class StepFlow {
public:
  explicit StepFlow(StepOp step);

  /// Segments that the step invokes, in the order of their first call.
  llvm::ArrayRef<SegmentOp> segments() const { return order; }
  llvm::ArrayRef<InvokeOp> callsOf(SegmentOp segment) const;

  /// The operations that made `value` partial over (a part of) `axis`, through
  /// all that passes partial sums on.
  Operations partialOrigins(mlir::Value value, AxisRef axis) const;
  /// Who reads the value, collectives on the way left out; who only saves it
  /// where nobody else does.
  static Operations consumers(mlir::Value value);

private:
  /// What the value is at the other side of a border; empty inside a function.
  llvm::SmallVector<mlir::Value> sources(mlir::Value value) const;
  void collectOrigins(mlir::Value value, AxisRef axis, Operations &found,
                      llvm::DenseSet<mlir::Value> &seen) const;

  mlir::SymbolTable symbols;
  llvm::SmallVector<SegmentOp> order;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<InvokeOp>> calls;
};

/// An operation that moves or reshapes one value over a group of ranks.
bool isExchange(mlir::Operation *op);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_STEPFLOW_H
