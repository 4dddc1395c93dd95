//===- StrettoDialect.h - the stretto dialect -------------------*- C++ -*-===//
//
// The dialect class, its attributes and the helpers that every user of
// distributions needs.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_STRETTODIALECT_H
#define STRETTO_DIALECT_STRETTO_IR_STRETTODIALECT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "stretto/Dialect/Stretto/IR/AxisRef.h"
#include "stretto/Dialect/Stretto/IR/OpRule.h"
#include <optional>

#include "stretto/Dialect/Stretto/IR/StrettoDialect.h.inc"

#include "stretto/Dialect/Stretto/IR/StrettoEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "stretto/Dialect/Stretto/IR/StrettoAttrs.h.inc"

namespace stretto {

/// Names of discardable attributes.
namespace attr {
constexpr llvm::StringLiteral dims = "stretto.dims";
constexpr llvm::StringLiteral name = "stretto.name"; // of a model input
constexpr llvm::StringLiteral param = "stretto.param";
constexpr llvm::StringLiteral init = "stretto.init";
constexpr llvm::StringLiteral noDecay = "stretto.no_decay";
constexpr llvm::StringLiteral constraint = "stretto.constraint";
/// Of an invoke that gathers parameters: "step", "microbatch" or "pass", where
/// the plan may choose.
constexpr llvm::StringLiteral gather = "stretto.gather";
/// Of the module: bytes of a reduction bucket and passes that parameters are
/// gathered ahead, `{bucket = 26214400, prefetch = 1}`. Absent: no overlap.
constexpr llvm::StringLiteral overlap = "stretto.overlap";
/// Where a parameter's state rests, when not as the parameter is used.
constexpr llvm::StringLiteral rest = "stretto.rest";
constexpr llvm::StringLiteral role = "stretto.role";
constexpr llvm::StringLiteral alias = "stretto.alias";
constexpr llvm::StringLiteral binding = "stretto.binding";
constexpr llvm::StringLiteral members = "stretto.members"; // of a bundle
constexpr llvm::StringLiteral mesh = "stretto.mesh";       // on the module
constexpr llvm::StringLiteral recipe = "stretto.recipe";   // on the module
constexpr llvm::StringLiteral links = "stretto.links";     // on the module
} // namespace attr

/// Is every pair equal in shape and element type, encodings aside?
bool sameShapesAndElements(mlir::TypeRange lhs, mlir::TypeRange rhs);
/// The same, except that element types of `wide` may be wider floats.
bool sameShapesAndWiderElements(mlir::TypeRange narrow, mlir::TypeRange wide);

/// Are sums of `element` values kept in `sum`: the same type or a wider float?
bool isSumType(mlir::Type sum, mlir::Type element);
/// In which losses, log-sum-exps and the like of `element` values are kept: f32
/// for floats of 16 bits, else the same.
mlir::Type statisticsType(mlir::Type element);

/// The distribution in a tensor type's encoding, or null.
DistAttr getDist(mlir::Type type);
DistAttr getDist(mlir::Value value);
mlir::RankedTensorType withDist(mlir::RankedTensorType type, DistAttr dist);
/// `type` with the shape and no encoding.
mlir::RankedTensorType bareType(mlir::Type type);

/// Number of members of the product of `axes`.
int64_t productOf(llvm::ArrayRef<AxisRef> axes);
/// Merges neighbouring sub-axes (tp:(1)2, tp:(2)2 -> tp of 4) and drops size 1.
llvm::SmallVector<AxisRef> canonicalAxes(llvm::ArrayRef<AxisRef> axes);
/// Do any two references overlap?
bool axesOverlap(llvm::ArrayRef<AxisRef> lhs, llvm::ArrayRef<AxisRef> rhs);

/// "{dp, tp:(1)2}" for messages.
std::string toString(MeshAttr mesh, llvm::ArrayRef<AxisRef> axes);
void printAxes(llvm::raw_ostream &os, MeshAttr mesh,
               llvm::ArrayRef<AxisRef> axes);

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_IR_STRETTODIALECT_H
