//===- Decompose.h - fused operations as compositions -----------*- C++ -*-===//
//
// Models of the interface Decomposable for softmax, the norms, cross entropy,
// activations, optimizers and what moves or selects elements. Compositions use
// elementwise operations, compare, select, constant, broadcast, reduce, iota
// and window; their values have bare types.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_TRANSFORMS_DECOMPOSE_H
#define STRETTO_DIALECT_STRETTO_TRANSFORMS_DECOMPOSE_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/StringRef.h"

namespace stretto {

namespace attr {
/// On operations whose arithmetic must not be reassociated (optimizers).
constexpr llvm::StringLiteral exact = "stretto.exact";
/// On operations on a few numbers that every user may rather repeat than read.
constexpr llvm::StringLiteral repeat = "stretto.repeat";
} // namespace attr

void registerDecomposableModels(mlir::DialectRegistry &registry);

/// Makes windows over a group of a localized segment collectives and windows on
/// one member: see ExpandHalos.cpp.
void expandHalos(SegmentOp segment);

/// Makes windows, boxes and top_k of a localized segment simple enough for
/// kernels: see ExpandMovement.cpp. Diagnoses what has no such form.
mlir::LogicalResult expandMovement(SegmentOp segment);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_TRANSFORMS_DECOMPOSE_H
