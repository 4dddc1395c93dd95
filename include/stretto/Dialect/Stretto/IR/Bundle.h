//===- Bundle.h - tensors that move together at step level ------*- C++ -*-===//
//
// A bundle is a value of type `tuple<tensor, …>`: what belongs to one layer
// instance (its parameters, their moments, gradients, accumulators, the
// activations it saves). Steps pass bundles, so that depth adds a few operands
// per instance and not a few per parameter.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_BUNDLE_H
#define STRETTO_DIALECT_STRETTO_IR_BUNDLE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ValueRange.h"

namespace stretto {

/// A tensor at step level: a value of its own, or a member of a bundle.
struct TensorRef {
  mlir::Value value;
  int member = -1; // -1: the value itself

  TensorRef() = default;
  TensorRef(mlir::Value value, int member = -1)
      : value(value), member(member) {}
  mlir::Type getType() const;
  explicit operator bool() const { return bool(value); }
};

inline bool isBundle(mlir::Type type) {
  return llvm::isa<mlir::TupleType>(type);
}

/// The tensors among `values`, bundles taken apart, in order.
llvm::SmallVector<TensorRef> tensorsOf(mlir::ValueRange values);
llvm::SmallVector<mlir::Type> tensorTypesOf(mlir::TypeRange types);

/// `change` applied to a tensor type or to every member of a bundle.
mlir::Type
mapTensorTypes(mlir::Type type,
               llvm::function_ref<mlir::Type(mlir::RankedTensorType)> change);

/// The types of `tensors` put together like `like`: one type per entry, with as
/// many members.
llvm::SmallVector<mlir::Type> bundledLike(mlir::TypeRange like,
                                          mlir::TypeRange tensors);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_BUNDLE_H
