//===- StepCalls.h - a step as a flat list of calls -------------*- C++ -*-===//
//
// A step with its micro-batch loops unrolled: values by number, each defined
// once, and the calls between them in order.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_STEPCALLS_H
#define STRETTO_TRANSFORMS_MEMORY_STEPCALLS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

struct StepValue {
  enum class Kind { Argument, InputSlice, Zeros, Result };
  Kind kind = Kind::Result;
  mlir::RankedTensorType type;
  unsigned argument = 0; ///< of the step: Argument, InputSlice
  int64_t slice = 0;     ///< micro-batch: InputSlice
  int64_t lastUse = -1;  ///< index of a call; the end = number of calls
};

struct StepCall {
  SegmentOp segment;
  InvokeOp invoke;
  llvm::SmallVector<unsigned> operands, results; ///< values
  int64_t microbatch = 0;
  unsigned stream = 0;
  /// Calls before this one that must have ended, whatever it reads or writes.
  llvm::SmallVector<unsigned, 1> after;
};

struct StepCalls {
  llvm::SmallVector<StepValue> values;
  llvm::SmallVector<StepCall> calls;
  llvm::SmallVector<unsigned> yields; ///< values, per result of the step

  /// Diagnoses what is no invoke, microbatches loop or zeros.
  static mlir::FailureOr<StepCalls> of(StepOp step, mlir::SymbolTable &symbols);

  /// Puts the calls into the order in which `order` lists their indices.
  void reorder(llvm::ArrayRef<unsigned> order);
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_STEPCALLS_H
