//===- Decompose.h - fused operations as compositions -----------*- C++ -*-===//
//
// Models of the interface Decomposable for softmax, the norms, cross entropy,
// activations and optimizers. Compositions use elementwise operations, compare,
// select, constant, broadcast, reduce and iota; their values have bare types.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_TRANSFORMS_DECOMPOSE_H
#define STRETTO_DIALECT_STRETTO_TRANSFORMS_DECOMPOSE_H

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringRef.h"

namespace stretto {

namespace attr {
/// On operations whose arithmetic must not be reassociated (optimizers).
constexpr llvm::StringLiteral exact = "stretto.exact";
/// On operations on a few numbers that every user may rather repeat than read.
constexpr llvm::StringLiteral repeat = "stretto.repeat";
} // namespace attr

void registerDecomposableModels(mlir::DialectRegistry &registry);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_TRANSFORMS_DECOMPOSE_H
