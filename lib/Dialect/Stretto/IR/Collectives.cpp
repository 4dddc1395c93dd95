//===- Collectives.cpp - changes of distribution --------------------------===//

#include "RuleUtils.h"
#include "stretto/Dialect/Stretto/IR/Permutation.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

LogicalResult ReshardOp::verify() {
  if (!sameShapesAndElements(getX().getType(), getResult().getType()))
    return emitOpError("must keep shape and element type");
  return success();
}

static bool sameAxes(DistAttr from, DistAttr to) {
  return from.getMesh() == to.getMesh() && from.getDims() == to.getDims() &&
         from.getPartialAxes() == to.getPartialAxes() &&
         from.getPartialKind() == to.getPartialKind();
}

/// On distributed types the shape stays and the padded extents of dimensions
/// that are whole on every rank change; on local ones any extent may.
LogicalResult PadExtentOp::verify() {
  auto from = tensor(getX()), to = tensor(getResult());
  if (from.getRank() != to.getRank())
    return emitOpError("must keep the rank ")
           << from.getRank() << ", got " << to.getRank();
  DistAttr before = getDist(from), after = getDist(to);
  if (!before && !after)
    return success();
  if (!before || !after || !sameAxes(before, after) ||
      from.getShape() != to.getShape())
    return emitOpError("may change nothing but padded extents: ")
           << from << " to " << to;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (before.getPaddedExtents()[dim] != after.getPaddedExtents()[dim] &&
        !before.getDimAxes(dim).empty())
      return emitOpError("dimension ")
             << dim << " is sharded over "
             << toString(before.getMesh(), before.getDimAxes(dim))
             << "; gather it before its padding changes";
  return success();
}

/// On bare local tensors the shapes must follow from the group; on distributed
/// types shapes are global and stay. `scaled` is the dimension whose extent is
/// multiplied (gather) or divided (scatter, slice) by the number of members.
static LogicalResult verifyShape(Operation *op, GroupAttr group,
                                 int64_t growing, int64_t shrinking) {
  ArrayRef<int64_t> from = shape(op->getOperand(0)),
                    to = shape(op->getResult(0));
  int64_t members = group.getNumMembers();
  bool distributed = bool(getDist(op->getOperand(0)));
  SmallVector<int64_t> expected(from);
  for (auto [dim, grows] :
       {std::pair(growing, true), std::pair(shrinking, false)}) {
    if (dim < 0)
      continue;
    if (dim >= int64_t(from.size()))
      return op->emitOpError("dimension ")
             << dim << " is outside rank " << from.size();
    if (distributed)
      continue;
    if (!grows && expected[dim] % members != 0)
      return op->emitOpError("dimension ")
             << dim << " of extent " << expected[dim] << " does not split over "
             << members << " members";
    expected[dim] = grows ? expected[dim] * members : expected[dim] / members;
  }
  if (!compatible(to, expected))
    return op->emitOpError("result shape does not follow from the group of ")
           << members << " members";
  return success();
}

LogicalResult AllReduceOp::verify() {
  return verifyShape(*this, getGroup(), -1, -1);
}
LogicalResult KeepFirstOp::verify() {
  return verifyShape(*this, getGroup(), -1, -1);
}
LogicalResult AllGatherOp::verify() {
  return verifyShape(*this, getGroup(), getDim(), -1);
}
LogicalResult ReduceScatterOp::verify() {
  return verifyShape(*this, getGroup(), -1, getDim());
}
LogicalResult ShardSliceOp::verify() {
  return verifyShape(*this, getGroup(), -1, getDim());
}

/// The axes cut so that no two references share a part of a rank's coordinate
/// and neighbours are merged, in the order of the mesh.
static SmallVector<AxisRef> inMeshOrder(ArrayRef<AxisRef> axes) {
  SmallVector<AxisRef> sorted(axes);
  llvm::sort(sorted);
  return canonicalAxes(sorted);
}

/// `to` counts the members of the operation's group in another order.
static LogicalResult verifyOrder(Operation *op, GroupAttr group, GroupAttr to) {
  if (group.getMesh() != to.getMesh())
    return op->emitOpError("counts members on another mesh, ")
           << to.getMesh() << ", than that of its group, " << group.getMesh();
  if (inMeshOrder(group.getAxes()) != inMeshOrder(to.getAxes()))
    return op->emitOpError("counts members by ")
           << toString(to.getMesh(), to.getAxes())
           << ", which are not the axes of its group "
           << toString(group.getMesh(), group.getAxes());
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (getTo()) {
    if (failed(verifyOrder(*this, getGroup(), *getTo())))
      return failure();
    SmallVector<AxisRef> members(getGroup().getAxes());
    SmallVector<AxisRef> blocks(getTo()->getAxes());
    if (!cutAlike(members, blocks))
      return emitOpError("counts blocks by ")
             << toString(getGroup().getMesh(), blocks)
             << ", which cannot be cut into the same sub-axes as its group "
             << toString(getGroup().getMesh(), members);
  }
  return verifyShape(*this, getGroup(), getConcatDim(), getSplitDim());
}
LogicalResult PermuteOp::verify() {
  if (failed(verifyOrder(*this, getGroup(), getTo())))
    return failure();
  return verifyShape(*this, getGroup(), -1, -1);
}
