//===- Fit.h - distributions that an operation would take -------*- C++ -*-===//
//
// For an operation whose operands or results lie as its rule does not allow:
// the nearest distributions that it does allow, and the reshards that lead
// there. All of them together make the operation verify.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_FIT_H
#define STRETTO_DIALECT_STRETTO_IR_FIT_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

/// How all values of an operation lie.
struct Fit {
  llvm::SmallVector<DistAttr> operands, results;
};

/// Distributions that `rule` allows, as near as it goes to those that `op` has:
/// of the fits that one of its values leads, the one that changes the fewest
/// values, then the fewest elements. All values of `op` have a distribution, of
/// one mesh.
Fit nearestFit(mlir::Operation *op, const OpRule &rule);

/// Notes every reshard of `fit`: of operands before `op`; of results, whose
/// types follow, after it to the types that were claimed.
void attachFit(mlir::InFlightDiagnostic &error, mlir::Operation *op,
               const Fit &fit);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_FIT_H
