//===- Adjoints.h - how adjoints are written --------------------*- C++ -*-===//
//
// Private to the room: the small vocabulary in which the vector-Jacobian
// products of operations are written, and the registration of each group.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_ADJOINTS_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_ADJOINTS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto::adjoint {

using Cotangents = llvm::SmallVector<mlir::Value>;

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Arithmetic at one place in the IR; operands align to trailing dimensions.
class Writer {
public:
  Writer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element)
      : b(builder), loc(loc), element(element) {}
  Writer(mlir::OpBuilder &builder, mlir::Operation *op)
      : Writer(builder, op->getLoc(),
               typeOf(op->getOperand(0)).getElementType()) {}

  /// A rank-0 constant, which aligns with any shape.
  mlir::Value constant(double value);
  template <typename OpT> mlir::Value unary(mlir::Value x) {
    return OpT::create(b, loc, x);
  }
  template <typename OpT> mlir::Value binary(mlir::Value x, mlir::Value y) {
    return OpT::create(b, loc, x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }
  mlir::Value add(mlir::Value x, double y) { return add(x, constant(y)); }
  mlir::Value mul(mlir::Value x, double y) { return mul(x, constant(y)); }
  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  /// x in this element type.
  mlir::Value convert(mlir::Value x);
  /// 1 - x.
  mlir::Value oneMinus(mlir::Value x) { return sub(constant(1), x); }

  mlir::Value compare(ComparePredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  /// Repeats x, whose dimensions are those of `like` without `missing`.
  mlir::Value spread(mlir::Value x, mlir::Value like,
                     llvm::ArrayRef<int64_t> missing);
  /// Sums the leading dimensions that `operand` lacks: the adjoint of
  /// alignment.
  mlir::Value sumTo(mlir::Value cotangent, mlir::Value operand);

private:
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type element;
};

void registerElementwise(mlir::MLIRContext *context);
void registerStructured(mlir::MLIRContext *context);
void registerMovement(mlir::MLIRContext *context);
void registerFused(mlir::MLIRContext *context);

} // namespace stretto::adjoint

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_ADJOINTS_H
