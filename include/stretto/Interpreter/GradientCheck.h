//===- GradientCheck.h - derived gradients against the model ----*- C++ -*-===//
//
// The gradients of a derived training step against finite differences of the
// loss of the model as it was written: an oracle for everything that
// differentiation and the building of the step do.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_GRADIENTCHECK_H
#define STRETTO_INTERPRETER_GRADIENTCHECK_H

#include "stretto/Interpreter/Check.h"

namespace stretto::interp {

/// Per parameter, the derivative of the loss along one direction (half the
/// gradient's own, half random) by a fourth-order central difference, against
/// the step's gradient: error <= tolerance * gradient norm. `model` is the
/// module with the recipe applied (static shapes), `derived` what was derived
/// from it. Dropout draws the same bits in both, where batch is the first
/// dimension.
mlir::FailureOr<CheckReport> checkGradients(mlir::ModuleOp model,
                                            mlir::ModuleOp derived,
                                            const CheckOptions &options);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_GRADIENTCHECK_H
