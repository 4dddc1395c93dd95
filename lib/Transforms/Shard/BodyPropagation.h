//===- BodyPropagation.h - decisions inside one segment ---------*- C++ -*-===//
//
// Private to the room: wishes of one segment's classes and, operation by
// operation, the axes that each factor gets. Deciding does not change the IR;
// `write` puts the decisions on it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_SHARD_BODYPROPAGATION_H
#define STRETTO_LIB_TRANSFORMS_SHARD_BODYPROPAGATION_H

#include "Settle.h"
#include "Wishes.h"
#include "llvm/ADT/MapVector.h"

namespace stretto::shard {

/// What the factors of one operation got.
struct Decision {
  llvm::SmallVector<llvm::SmallVector<AxisRef>> axes;
  llvm::SmallVector<int64_t> priorities;
  std::string causes;
};

class BodyPropagation {
public:
  BodyPropagation(SegmentOp segment, MeshAttr mesh, const MoveCost &cost)
      : segment(segment), mesh(mesh), cost(cost), wishes(segment, mesh, cost) {}

  mlir::LogicalResult decide();
  /// Puts `stretto.factors` and `stretto.padding` on operations and what the
  /// results want on the segment: the backward that receives them as saved
  /// values inherits it.
  void write();

  const Wishes &getWishes() const { return wishes; }
  const Decision *decisionOf(mlir::Operation *op) const {
    auto it = decisions.find(op);
    return it == decisions.end() ? nullptr : &it->second;
  }

  /// Axes per dimension as far as wishes tell; null for what is no tensor.
  const DimAxes *liesOn(mlir::Value value) const {
    auto it = lies.find(value);
    return it == lies.end() ? nullptr : &it->second;
  }

private:
  mlir::LogicalResult decideOperation(mlir::Operation *op);
  mlir::LogicalResult addConstrained(ConstrainOp op, const OpRule &rule,
                                     Settlement &settlement) const;
  void addCandidates(mlir::Value value, const DimFactors &dims,
                     const OpRule &rule,
                     llvm::function_ref<bool(unsigned)> asks,
                     llvm::SmallVectorImpl<Candidate> &candidates) const;
  DimAxes wishedDims(mlir::Value value) const;
  mlir::LogicalResult placeArguments();
  void writePadding();
  void writeResults();

  SegmentOp segment;
  MeshAttr mesh;
  const MoveCost &cost;
  Wishes wishes;
  llvm::MapVector<mlir::Operation *, Decision> decisions;
  llvm::DenseMap<mlir::Value, DimAxes> lies; // as far as wishes tell
};

/// The dimensions of `op` that are open to what its operands or users ask for
/// (all, unless it is there to say otherwise).
bool followsWishes(mlir::Operation *op, unsigned dim);

} // namespace stretto::shard

#endif // STRETTO_LIB_TRANSFORMS_SHARD_BODYPROPAGATION_H
