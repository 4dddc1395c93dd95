//===- Requests.h - constraints as axes of a mesh ---------------*- C++ -*-===//
//
// Private to the room: reading #stretto.constraint against a mesh, and fitting
// axes to the size of a dimension.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_REQUESTS_H
#define STRETTO_LIB_TRANSFORMS_SHARD_REQUESTS_H

#include "stretto/Dialect/Stretto/IR/Distribution.h"

namespace stretto::shard {

/// The mesh of the module (one rank when it has none).
MeshAttr meshOf(mlir::ModuleOp module);

/// Axes that dimension `dim` of a constraint names, resolved on `mesh`; unknown
/// names are an error at `loc`.
mlir::FailureOr<llvm::SmallVector<AxisRef>>
resolveAxes(mlir::Location loc, MeshAttr mesh, ConstraintAttr constraint,
            unsigned dim);

/// The constraint of dimension lists on `mesh`, for printing decisions.
ConstraintAttr makeConstraint(MeshAttr mesh,
                              llvm::ArrayRef<llvm::SmallVector<AxisRef>> dims,
                              llvm::ArrayRef<int64_t> priorities,
                              llvm::StringRef cause);

/// Axes that a dimension of `size` can hold: all of them (with padding when
/// they do not divide it), or, when the shards outnumber the elements by a
/// whole factor, the major part of them: two kv heads on four ranks are two
/// shards, each replicated twice.
llvm::SmallVector<AxisRef> fitAxes(llvm::ArrayRef<AxisRef> axes, int64_t size);

/// Extent with padding that `size` needs on `axes`, 0 when it divides.
int64_t paddedExtent(int64_t size, llvm::ArrayRef<AxisRef> axes);

/// The distribution that a constraint asks for on a value of `shape`:
/// dimensions in order of priority, an axis used once, nothing partial. Null
/// constraint: replicated.
mlir::FailureOr<DistAttr> distributionFor(mlir::Location loc, MeshAttr mesh,
                                          ConstraintAttr constraint,
                                          llvm::ArrayRef<int64_t> shape);

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_REQUESTS_H
