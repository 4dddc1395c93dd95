//===- RuleUtils.h - helpers to write rules and type inference --*- C++ -*-===//
//
// Private to the dialect: the few shapes that most rules are made of.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DIALECT_STRETTO_IR_RULEUTILS_H
#define STRETTO_LIB_DIALECT_STRETTO_IR_RULEUTILS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

#include <limits>

namespace stretto::rule {

inline mlir::RankedTensorType tensor(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::Type elementOf(mlir::Value value) {
  return tensor(value).getElementType();
}
inline llvm::ArrayRef<int64_t> shape(mlir::Value value) {
  return tensor(value).getShape();
}
inline mlir::RankedTensorType make(llvm::ArrayRef<int64_t> shape,
                                   mlir::Type element) {
  return mlir::RankedTensorType::get(shape, element);
}

/// Last `rank` of the factors: numpy-like alignment of trailing dimensions.
inline DimFactors trailing(llvm::ArrayRef<unsigned> factors, unsigned rank) {
  return OpRule::plain(factors.take_back(rank));
}

/// The static one of two extents (they must agree when both are static).
inline int64_t mergeExtent(int64_t a, int64_t b) {
  return mlir::ShapedType::isDynamic(a) ? b : a;
}

/// Shape of operands aligned to the trailing dimensions of the largest, or an
/// error that names the dimension.
mlir::FailureOr<llvm::SmallVector<int64_t>>
broadcastShapes(std::optional<mlir::Location> loc, mlir::ValueRange operands);

/// Rule of a pointwise operation over trailing-aligned operands; linearSets is
/// left to the caller.
OpRule pointwise(mlir::Operation *op);

/// Diagnoses dimensions that are outside the rank or do not ascend.
mlir::LogicalResult verifyDims(mlir::Operation *op,
                               llvm::ArrayRef<int64_t> dims, int64_t rank);

/// One line of a verifier: `value` (called `name`) has `expected` extents.
mlir::LogicalResult verifyShape(mlir::Operation *op, llvm::StringRef name,
                                mlir::Value value,
                                llvm::ArrayRef<int64_t> expected);
/// The same with the extents of `model`, called `modelName`.
mlir::LogicalResult verifySameShape(mlir::Operation *op, llvm::StringRef name,
                                    mlir::Value value,
                                    llvm::StringRef modelName,
                                    mlir::Value model);
/// `value` (called `name`) has elements of type `expected`.
mlir::LogicalResult verifyElement(mlir::Operation *op, llvm::StringRef name,
                                  mlir::Value value, mlir::Type expected);
/// `value` of attribute `name` lies in [0, limit); infinity: only finite.
mlir::LogicalResult
verifyRange(mlir::Operation *op, llvm::StringRef name,
            const llvm::APFloat &value,
            double limit = std::numeric_limits<double>::infinity());

/// Checks `actual` against an expected shape where both are static.
bool compatible(llvm::ArrayRef<int64_t> actual,
                llvm::ArrayRef<int64_t> expected);

} // namespace stretto::rule

#endif // STRETTO_LIB_DIALECT_STRETTO_IR_RULEUTILS_H
