//===- AssignBody.h - distributions inside one segment ----------*- C++ -*-===//
//
// Private to the room: gives every value of a segment's body its distribution
// and inserts the reshards.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_ASSIGNBODY_H
#define STRETTO_LIB_TRANSFORMS_SHARD_ASSIGNBODY_H

#include "Padding.h"
#include "Reasons.h"
#include "Settle.h"
#include "mlir/IR/Builders.h"

namespace stretto::shard {

/// Axes over which operands stay partial through an operation, which operands
/// are partial over them, and which results become so (empty: all).
struct Passing {
  llvm::SmallVector<AxisRef> axes;
  llvm::SmallVector<unsigned> operands;
  llvm::SmallVector<unsigned> results;
};

class BodyAssigner {
public:
  BodyAssigner(SegmentOp segment, MeshAttr mesh, const MoveCost &cost)
      : segment(segment), mesh(mesh), builder(segment.getContext()),
        padding(segment), reasons(segment), cost(cost) {}

  /// `arguments`: distribution of every argument, null where the body decides
  /// (accumulators take that of the raw gradient added to them). `results`:
  /// what the caller wants, null where the body decides.
  mlir::LogicalResult run(llvm::ArrayRef<DistAttr> arguments,
                          llvm::ArrayRef<DistAttr> results);

private:
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitYield(YieldOp yield,
                                 llvm::ArrayRef<DistAttr> results);
  bool takeFromOther(mlir::Operation *op);
  bool addWhereItRests(mlir::Operation *op);
  llvm::SmallVector<DistAttr> asDecided(mlir::Operation *op,
                                        const OpRule &rule) const;
  bool decompose(mlir::Operation *op, const OpRule &rule);
  mlir::FailureOr<Placement> place(mlir::Operation *op, const OpRule &rule);
  unsigned ageOf(mlir::Value value) const;
  llvm::SmallVector<Candidate> candidatesOfOperands(mlir::Operation *op,
                                                    const OpRule &rule) const;
  Passing passingPartial(mlir::Operation *op, const OpRule &rule,
                         const Placement &placement);
  std::optional<Passing> passingScalars(mlir::Operation *op,
                                        const OpRule &rule) const;
  std::optional<Passing> sumOf(mlir::Operation *op, const LinearSet &set) const;
  std::optional<double> savedByPassing(mlir::Operation *op, const OpRule &rule,
                                       const Placement &placement,
                                       const Passing &passing) const;
  double secondsNow(mlir::Operation *op, const OpRule &rule,
                    const Placement &placement, const Passing &passing) const;
  double secondsLater(mlir::Operation *op, const OpRule &rule,
                      Placement placement, const Passing &passing) const;
  std::optional<double> leastInChain(mlir::Value value,
                                     llvm::ArrayRef<AxisRef> axes) const;
  static void keepFree(Placement &placement, llvm::ArrayRef<AxisRef> passing);
  mlir::LogicalResult enter(mlir::BlockArgument argument);
  void settleOperands(mlir::Operation *op, const OpRule &rule,
                      const Placement &placement, const Passing &passing);
  void keepFinite(mlir::Operation *op, const OpRule &rule);
  void maskOperands(mlir::Operation *op, const OpRule &rule,
                    const Placement &placement);
  void typeResults(mlir::Operation *op, const OpRule &rule,
                   const Placement &placement, const Passing &passing);
  mlir::Value reshard(mlir::Value value, DistAttr target,
                      const llvm::Twine &consumer,
                      llvm::StringRef planCauses = "");
  mlir::Value maskPad(mlir::Value value, unsigned dim, double neutral);
  mlir::Value zeroPadding(mlir::Value value);

  SegmentOp segment;
  MeshAttr mesh;
  mlir::OpBuilder builder;
  PaddingState padding;
  Reasons reasons;
  const MoveCost &cost;
  llvm::DenseMap<mlir::Value, unsigned> ages; // place in the function
  llvm::DenseMap<std::pair<mlir::Value, DistAttr>, mlir::Value> resharded;
};

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_ASSIGNBODY_H
