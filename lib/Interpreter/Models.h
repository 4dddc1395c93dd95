//===- Models.h - attaching evaluations to operations -----------*- C++ -*-===//
//
// An operation is evaluated by a function
//   EvalResult eval(SomeOp op, ArrayRef<Tensor> in, const EvalContext &context)
// in namespace stretto; attachEvaluations<SomeOp, ...> makes them external
// models of the interface Evaluable. Internal to the room.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_INTERPRETER_MODELS_H
#define STRETTO_LIB_INTERPRETER_MODELS_H

#include "stretto/Interpreter/Evaluable.h"

namespace stretto::interp {

using EvalResult = mlir::FailureOr<TensorVector>;

template <typename OpT>
struct EvaluableModel : Evaluable::ExternalModel<EvaluableModel<OpT>, OpT> {
  EvalResult evaluate(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
                      const EvalContext &context) const {
    return eval(mlir::cast<OpT>(op), operands, context);
  }
};

template <typename... Ops> void attachEvaluations(mlir::MLIRContext *context) {
  (Ops::template attachInterface<EvaluableModel<Ops>>(*context), ...);
}

/// One group of operations each; see registerEvaluableModels.
void attachElementwise(mlir::MLIRContext *context);
void attachStructured(mlir::MLIRContext *context);
void attachMovement(mlir::MLIRContext *context);
void attachIndexed(mlir::MLIRContext *context);
void attachRandom(mlir::MLIRContext *context);
void attachNorms(mlir::MLIRContext *context);
void attachAttention(mlir::MLIRContext *context);
void attachLoss(mlir::MLIRContext *context);
void attachOptimizers(mlir::MLIRContext *context);
void attachCollectives(mlir::MLIRContext *context);

inline EvalResult one(Tensor tensor) {
  TensorVector results;
  results.push_back(std::move(tensor));
  return results;
}

/// Diagnoses operands of the wrong kind; one letter per operand: r (real) or i
/// (integer).
mlir::LogicalResult expectKinds(mlir::Operation *op,
                                llvm::ArrayRef<Tensor> operands,
                                llvm::StringRef kinds);

/// Diagnoses a run-time shape that the types leave open.
mlir::LogicalResult expectShape(mlir::Operation *op, const Tensor &tensor,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::StringRef what);

} // namespace stretto::interp

#endif // STRETTO_LIB_INTERPRETER_MODELS_H
