//===- Evaluable.h - how operations are evaluated ---------------*- C++ -*-===//
//
// What an operation may know besides its operands (rank, step, instance), and
// the interfaces through which the interpreter asks it for results.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_EVALUABLE_H
#define STRETTO_INTERPRETER_EVALUABLE_H

#include "mlir/IR/DialectRegistry.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Interpreter/Tensor.h"

namespace stretto::interp {

/// One rank at one point of a step.
struct EvalContext {
  uint64_t seed = 0;
  uint64_t step = 0;     ///< counted from 1
  uint64_t instance = 0; ///< instanceKey of the instance path
  int64_t microbatch = 0;
  /// Mesh coordinates of the rank; empty when the whole program is one rank.
  llvm::SmallVector<int64_t> coordinates;
  /// Scalars of the launch around a kernel body, in order.
  llvm::ArrayRef<int64_t> scalars;

  /// The value of an offset attribute; absent is 0. In a kernel the offset is
  /// the launch scalar that `stretto.scalars` of the operation names at
  /// `index`.
  mlir::FailureOr<int64_t> offset(mlir::Operation *op,
                                  mlir::Attribute attribute,
                                  unsigned index = 0) const;
  /// The launch scalar at position `index` of `stretto.scalars`; nothing when
  /// the operation has no such attribute.
  mlir::FailureOr<std::optional<int64_t>> launchScalar(mlir::Operation *op,
                                                       unsigned index) const;
  /// A launch's scalar: an offset, an integer, or "seed", "step", "instance",
  /// "microbatch" (as the bits of an i64).
  mlir::FailureOr<int64_t> scalar(mlir::Operation *op,
                                  mlir::Attribute attribute) const;
  uint64_t randomKey() const;
};

/// xxh3_64 of an instance path or parameter name: its part of a random key.
uint64_t instanceKey(llvm::StringRef path);

using TensorVector = llvm::SmallVector<Tensor>;

/// Attaches the evaluation of every stretto operation to the dialect.
void registerEvaluableModels(mlir::DialectRegistry &registry);

} // namespace stretto::interp

#include "stretto/Interpreter/Evaluable.h.inc"

#endif // STRETTO_INTERPRETER_EVALUABLE_H
