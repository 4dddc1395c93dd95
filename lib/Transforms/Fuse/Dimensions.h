//===- Dimensions.h - which tensor dimensions are one loop ------*- C++ -*-===//
//
// Identifies the dimensions of all tensors of a group: operands and results of
// each operation say which of them move together. What is left are the loops.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_FUSE_DIMENSIONS_H
#define STRETTO_LIB_TRANSFORMS_FUSE_DIMENSIONS_H

#include "stretto/Transforms/Fuse/KernelGraph.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace stretto::kernel {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// Is `op` the sum of something and an embedding_grad among `ops`? Such a sum
/// is a scatter that starts from the other operand.
bool isScatterSum(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> ops);

class Dimensions {
public:
  /// Fails, with a reason, when the operations do not share an iteration space.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops,
                          mlir::ValueRange inputs,
                          llvm::ArrayRef<Output> outputs);

  llvm::StringRef why() const { return reason; }
  /// Extents of the loops, outermost first.
  llvm::ArrayRef<int64_t> extents() const { return loops; }
  /// The loop of dimension `index` of `value`.
  unsigned loopOf(mlir::Value value, unsigned index) const;

private:
  using Axes = llvm::SmallVector<unsigned, 4>;

  void fail(llvm::StringRef message);
  Axes axesOf(mlir::Value value);
  void unify(llvm::ArrayRef<unsigned> lhs, llvm::ArrayRef<unsigned> rhs);
  void alignTrailing(mlir::Value operand, mlir::Value result);
  void identifyIndexed(mlir::Value indices, mlir::Value gathered, int64_t dim,
                       int64_t batch);
  void requireInput(mlir::Value value, llvm::StringRef message);
  void identify(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> ops);
  void orderLoops(llvm::ArrayRef<Output> outputs);
  void insertAxes(llvm::ArrayRef<unsigned> list,
                  llvm::SmallVectorImpl<unsigned> &order);
  void checkDistinct(mlir::Value value);

  std::string reason;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> values;
  llvm::DenseMap<mlir::Value, Axes> axes;
  llvm::SmallVector<int64_t> rawExtents, loops;
  llvm::EquivalenceClasses<unsigned> classes;
  llvm::DenseMap<unsigned, unsigned> loopOfAxis;
};

} // namespace stretto::kernel

#endif // STRETTO_LIB_TRANSFORMS_FUSE_DIMENSIONS_H
