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

/// The same for a list of names.
mlir::FailureOr<llvm::SmallVector<AxisRef>>
resolveNames(mlir::Location loc, MeshAttr mesh,
             llvm::ArrayRef<mlir::StringAttr> names);

/// The constraint of dimension lists on `mesh`, for printing decisions.
ConstraintAttr makeConstraint(MeshAttr mesh,
                              llvm::ArrayRef<llvm::SmallVector<AxisRef>> dims,
                              llvm::ArrayRef<int64_t> priorities,
                              llvm::StringRef cause);

/// The dimensions of `constraint` without axes opened: what nobody asked for
/// may come.
ConstraintAttr openUnasked(ConstraintAttr constraint);
/// All dimensions opened: a wish, not a demand.
ConstraintAttr openAll(ConstraintAttr constraint);

/// Axes that a dimension of `size` can hold: all of them (with padding when
/// they do not divide it), or, when the shards outnumber the elements by a
/// whole factor, the major part of them: two kv heads on four ranks are two
/// shards, each replicated twice.
llvm::SmallVector<AxisRef> fitAxes(llvm::ArrayRef<AxisRef> axes, int64_t size);

/// The axes of the parts of a compound dimension, major to minor. Where they do
/// not divide it all go to the major part, which is padded by whole units of
/// the rest, as long as every shard can have one.
llvm::FailureOr<llvm::SmallVector<llvm::SmallVector<AxisRef>>>
splitWish(llvm::ArrayRef<AxisRef> axes, llvm::ArrayRef<int64_t> sizes);

/// `wanted` when that many elements hold `size` and divide over `axes`, else
/// the least padding.
int64_t paddedExtent(int64_t size, llvm::ArrayRef<AxisRef> axes,
                     int64_t wanted);

/// Extent with padding that `size` needs on `axes`, 0 when it divides.
int64_t paddedExtent(int64_t size, llvm::ArrayRef<AxisRef> axes);

/// The distribution that a constraint asks for on a value of `shape`:
/// dimensions in order of priority, an axis used once, nothing partial. Null
/// constraint: replicated. `padding`: extents that its uses want, 0 or empty
/// for the least that divides.
mlir::FailureOr<DistAttr> distributionFor(mlir::Location loc, MeshAttr mesh,
                                          ConstraintAttr constraint,
                                          llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<int64_t> padding = {});

/// Attributes between `propagate` and `assign`: axes per factor (a constraint),
/// padded extents per factor of an operation, per dimension of an argument.
namespace decided {
constexpr llvm::StringLiteral factors = "stretto.factors";
constexpr llvm::StringLiteral padding = "stretto.padding";
} // namespace decided

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_REQUESTS_H
