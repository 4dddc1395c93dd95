//===- ReverseSweep.h - cotangents of one block -----------------*- C++ -*-===//
//
// Reverse-mode differentiation of straight-line code: walks the operations
// backwards, asks each for its vector-Jacobian product and sums what meets.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_REVERSESWEEP_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_REVERSESWEEP_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/DenseSet.h"

namespace stretto {

class ReverseSweep {
public:
  /// `active`: the values to differentiate with respect to. New operations go
  /// where `builder` stands, after `operations`.
  ReverseSweep(mlir::OpBuilder &builder,
               llvm::ArrayRef<mlir::Operation *> operations,
               mlir::ValueRange active);

  /// Adds to the cotangent of `value`; ignored where nothing depends on it.
  void seed(mlir::Value value, mlir::Value cotangent);
  mlir::LogicalResult run();
  /// Null when zero.
  mlir::Value cotangentOf(mlir::Value value) const {
    return cotangents.lookup(value);
  }

private:
  mlir::LogicalResult sweep(mlir::Operation *op);

  mlir::OpBuilder &builder;
  llvm::ArrayRef<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> cotangents;
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_REVERSESWEEP_H
