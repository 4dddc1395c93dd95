//===- DimensionNames.h - names of dimensions inside a layer ----*- C++ -*-===//
//
// Which logical dimension (batch, seq, embed, ...) a dimension of a value is:
// names come from the `stretto.dims` of arguments and flow along factors.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_DIMENSIONNAMES_H
#define STRETTO_TRANSFORMS_APPLY_DIMENSIONNAMES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace stretto {

class DimensionNames {
public:
  /// Follows the operations of `function` (one block) in order.
  explicit DimensionNames(mlir::FunctionOpInterface function);

  /// One name per dimension, "_" where none is known.
  llvm::ArrayRef<mlir::StringAttr> namesOf(mlir::Value value) const;
  /// The same as a `stretto.dims` attribute; null when no name is known.
  mlir::ArrayAttr attributeOf(mlir::Value value) const;
  /// The dimension of `value` called `name`.
  std::optional<int64_t> find(mlir::Value value, llvm::StringRef name) const;

private:
  void follow(mlir::Operation &op);

  mlir::StringAttr anonymous;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::StringAttr, 4>> names;
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_APPLY_DIMENSIONNAMES_H
