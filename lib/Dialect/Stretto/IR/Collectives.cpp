//===- Collectives.cpp - changes of distribution --------------------------===//
//
// On bare local tensors a collective changes shapes, on distributed types the
// distribution: what the types say must be what the group does.
//
//===----------------------------------------------------------------------===//

#include "RuleUtils.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Dialect/Stretto/IR/Distribution.h"
#include "stretto/Dialect/Stretto/IR/Permutation.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::rule;

//===----------------------------------------------------------------------===//
// Types on both sides
//===----------------------------------------------------------------------===//

/// Both sides or none have a distribution, of one mesh.
static LogicalResult verifySides(Operation *op) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  DistAttr before = getDist(from), after = getDist(to);
  if (bool(before) != bool(after))
    return op->emitOpError("leads from ")
           << describe(from) << " to " << describe(to)
           << ": give both a distribution or none";
  if (before && before.getMesh() != after.getMesh())
    return op->emitOpError("leads from ")
           << describe(from) << " on the mesh (" << describe(before.getMesh())
           << ") to " << describe(to) << " on the mesh ("
           << describe(after.getMesh())
           << "); a value stays on its mesh: use that of the module on both "
              "sides";
  return success();
}

/// What cannot be done in any number of steps.
LogicalResult ReshardOp::verify() {
  Type fromType = getX().getType(), toType = getResult().getType();
  if (!sameShapesAndElements(fromType, toType))
    return emitOpError("must keep shape and element type, leads from ")
           << describe(fromType) << " to " << describe(toType);
  if (failed(verifySides(*this)))
    return failure();
  DistAttr from = getDist(fromType), to = getDist(toType);
  if (!from)
    return success();
  auto hint = [&](InFlightDiagnostic error) -> LogicalResult {
    error.attachNote() << "this would fit: "
                       << reshardText(getX(), to.withoutPartial());
    return error;
  };
  if (from.isPartial() && to.isPartial() &&
      from.getPartialKind() != to.getPartialKind())
    return hint(
        emitOpError("turns a partial ")
        << stringifyReduceKind(from.getPartialKind()) << " into a partial "
        << stringifyReduceKind(to.getPartialKind()) << ": " << describe(from)
        << " to " << describe(to) << "; reduce it to a whole value in between");
  SmallVector<AxisRef> added =
      subtractAxes(to.getPartialAxes(), from.getPartialAxes());
  if (!added.empty() && to.getPartialKind() != ReduceKind::Sum)
    return hint(emitOpError("makes a partial ")
                << stringifyReduceKind(to.getPartialKind()) << " over "
                << toString(to.getMesh(), added)
                << " of a value that has none, " << describe(from) << " to "
                << describe(to) << "; only a sum has zeros to add");
  return success();
}

static bool sameAxes(DistAttr from, DistAttr to) {
  return from.getDims() == to.getDims() &&
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
  if (failed(verifySides(*this)))
    return failure();
  DistAttr before = getDist(from), after = getDist(to);
  if (!before)
    return success();
  auto hint = [&](InFlightDiagnostic error) -> LogicalResult {
    if (from.getShape() == to.getShape())
      error.attachNote() << "this would fit: " << reshardText(getX(), after);
    return error;
  };
  if (!sameAxes(before, after) || from.getShape() != to.getShape())
    return hint(emitOpError("may change nothing but padded extents: ")
                << describe(from) << " to " << describe(to));
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (before.getPaddedExtents()[dim] != after.getPaddedExtents()[dim] &&
        !before.getDimAxes(dim).empty())
      return hint(emitOpError("changes the padding of dimension ")
                  << dim << ", which is sharded over "
                  << toString(before.getMesh(), before.getDimAxes(dim)) << ": "
                  << describe(from) << " to " << describe(to)
                  << "; gather it before");
  return success();
}

//===----------------------------------------------------------------------===//
// What a group does to a distribution
//===----------------------------------------------------------------------===//

namespace {
/// A distribution to be changed step by step, and why a step is impossible.
struct Change {
  DistAttr from;
  SmallVector<SmallVector<AxisRef>> dims;
  SmallVector<AxisRef> partial;
  ReduceKind kind;
  std::string problem; // empty: none

  explicit Change(DistAttr from)
      : from(from), dims(from.getDims()), partial(from.getPartialAxes()),
        kind(from.getPartialKind()) {}

  std::string text(ArrayRef<AxisRef> axes) const {
    return toString(from.getMesh(), axes);
  }

  /// A reduction over `axes`, which are among the partial ones.
  void reduce(ArrayRef<AxisRef> axes, ReduceKind by) {
    if (!align(axes, partial) || !subtractAxes(axes, partial).empty())
      problem = "reduces over " + text(axes) +
                ", but its operand is partial "
                "over " +
                text(partial);
    else if (!partial.empty() && kind != by)
      problem = ("takes a " + stringifyReduceKind(by) +
                 ", but its operand is a partial " + stringifyReduceKind(kind))
                    .str();
    if (problem.empty())
      partial = subtractAxes(partial, axes);
  }

  /// The blocks along `dim` that differ in `axes` are put together: its most
  /// minor axes.
  void gather(unsigned dim, ArrayRef<AxisRef> axes) {
    SmallVector<AxisRef> &held = dims[dim];
    SmallVector<AxisRef> rest(held), end(canonicalAxes(axes));
    while (!end.empty() && !rest.empty() && takeLast(rest, end))
      ;
    if (!end.empty())
      problem = "gathers dimension " + std::to_string(dim) + " over " +
                text(axes) + ", which are not the last axes of " + text(held);
    held = rest;
  }

  /// Every member keeps its block of `dim`.
  void split(unsigned dim, ArrayRef<AxisRef> axes) {
    for (auto [other, held] : llvm::enumerate(dims))
      if (axesOverlap(held, axes))
        problem = "splits dimension " + std::to_string(dim) + " over " +
                  text(axes) + ", but dimension " + std::to_string(other) +
                  " lies on " + text(held);
    if (axesOverlap(partial, axes))
      problem = "splits dimension " + std::to_string(dim) + " over " +
                text(axes) + ", but its operand is partial over " +
                text(partial);
    llvm::append_range(dims[dim], axes);
  }

  /// Zeros everywhere but on one member: a sum over `axes`.
  void keepFirst(ArrayRef<AxisRef> axes) {
    for (const auto &held : dims)
      if (axesOverlap(held, axes))
        problem = "keeps the first of " + text(axes) +
                  ", but its operand is sharded over " + text(held);
    if (axesOverlap(partial, axes))
      problem = "keeps the first of " + text(axes) +
                ", but its operand is partial over " + text(partial);
    else if (!partial.empty() && kind != ReduceKind::Sum)
      problem = "keeps the first of a partial " +
                stringifyReduceKind(kind).str() + "; zeros add to sums only";
    kind = ReduceKind::Sum;
    llvm::append_range(partial, axes);
  }

  /// The member with index k by `to` gets what that with index k by `group`
  /// has: wherever a run of `group` stood stands that of `to`.
  void permute(GroupAttr group, GroupAttr to) {
    SmallVector<AxisRef> members(group.getAxes());
    dims.push_back(partial);
    // Each list is cut where a later one is in the second round.
    for (unsigned round = 0; round < 2; ++round) {
      for (SmallVector<AxisRef> &list : dims)
        if (!cutAlike(list, members))
          problem = "counts members by " + text(group.getAxes()) +
                    ", which do not align with " + text(list);
      if (!problem.empty())
        return;
      renamed = runsOf(members, to.getAxes());
      members.clear();
      for (const AxisRun &run : renamed)
        llvm::append_range(members, run.from);
    }
    for (SmallVector<AxisRef> &list : dims)
      (void)cutAlike(list, members);
    partial = dims.pop_back_val();
    bool isKnown = renameRuns(partial, /*isSet=*/true);
    for (SmallVector<AxisRef> &list : dims)
      isKnown &= renameRuns(list, /*isSet=*/false);
    if (!isKnown)
      problem = "moves parts of shards: counting " + text(group.getAxes()) +
                " as " + text(to.getAxes()) + " makes no distribution";
  }

  /// What all of that makes; null when it is no distribution.
  DistAttr result() const {
    if (!problem.empty())
      return {};
    for (auto [dim, padded] : llvm::enumerate(from.getPaddedExtents()))
      if (padded % productOf(dims[dim]) != 0)
        return {};
    return DistAttr::get(from.getContext(), from.getMesh(), dims, partial, kind,
                         from.getPaddedExtents());
  }

private:
  /// Replaces the runs in `list`; false when a part of one is there alone.
  bool renameRuns(SmallVector<AxisRef> &list, bool isSet) const {
    SmallVector<AxisRef> rest(list), result;
    if (isSet) {
      for (const AxisRun &run : renamed) {
        unsigned found = llvm::count_if(run.from, [&](AxisRef axis) {
          return llvm::is_contained(rest, axis);
        });
        if (found != 0 && found != run.from.size())
          return false;
        if (found == 0)
          continue;
        llvm::erase_if(rest, [&](AxisRef axis) {
          return llvm::is_contained(run.from, axis);
        });
        llvm::append_range(result, run.to);
      }
      llvm::append_range(result, rest);
      list = result;
      return true;
    }
    for (ArrayRef<AxisRef> left = rest; !left.empty();) {
      const auto *run = llvm::find_if(renamed, [&](const AxisRun &run) {
        return llvm::is_contained(run.from, left.front());
      });
      if (run == renamed.end()) {
        result.push_back(left.front());
        left = left.drop_front();
        continue;
      }
      size_t length = run->from.size();
      if (left.take_front(length) != ArrayRef(run->from))
        return false;
      llvm::append_range(result, run->to);
      left = left.drop_front(length);
    }
    list = result;
    return true;
  }

  SmallVector<AxisRun> renamed;

  /// Can each list be cut where the other is?
  static bool align(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
    SmallVector<AxisRef> first(a), second(b);
    return cutAlike(first, second);
  }

  /// Takes what the last axes of both lists share off both.
  static bool takeLast(SmallVector<AxisRef> &held, SmallVector<AxisRef> &end) {
    AxisRef a = held.back(), b = end.back();
    if (a.axis != b.axis || a.pre * a.size != b.pre * b.size)
      return false;
    AxisRef common = a.pre > b.pre ? a : b;
    for (auto *list : {&held, &end}) {
      AxisRef last = list->pop_back_val();
      if (common.pre % last.pre != 0)
        return false;
      if (last.pre != common.pre)
        list->push_back({last.axis, last.pre, common.pre / last.pre});
    }
    return true;
  }
};
} // namespace

/// Holds the distributions of a collective against what `change` does to the
/// operand's; success on bare tensors.
static LogicalResult verifyChange(Operation *op, GroupAttr group,
                                  function_ref<void(Change &)> apply) {
  if (failed(verifySides(op)))
    return failure();
  Value operand = op->getOperand(0), result = op->getResult(0);
  DistAttr from = getDist(operand), to = getDist(result);
  if (!from)
    return success();
  if (group.getMesh() != from.getMesh())
    return op->emitOpError("has a group of the mesh (")
           << describe(group.getMesh()) << "), but its operand, "
           << describe(operand.getType()) << ", lies on the mesh ("
           << describe(from.getMesh()) << "); name the axes of the latter";
  Change change(from);
  apply(change);
  DistAttr follows = change.result();
  if (follows == to)
    return success();
  InFlightDiagnostic error = op->emitOpError();
  if (!change.problem.empty())
    error << change.problem << ": " << describe(operand.getType()) << " to "
          << describe(result.getType());
  else
    error << "over " << toString(group.getMesh(), group.getAxes())
          << " makes of " << describe(operand.getType()) << " "
          << (follows ? describe(follows)
                      : "a dimension whose padded extent does not divide")
          << ", but the result is " << describe(result.getType());
  if (follows)
    error.attachNote() << "this would fit: the result is " << describe(follows);
  error.attachNote() << "this would fit: " << reshardText(operand, to)
                     << " instead, of which pass plan-reshards makes "
                        "collectives";
  return error;
}

//===----------------------------------------------------------------------===//
// What a group does to a shape
//===----------------------------------------------------------------------===//

static LogicalResult verifyDim(Operation *op, int64_t dim) {
  int64_t rank = tensor(op->getOperand(0)).getRank();
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError("dimension ") << dim << " is outside rank " << rank;
}

/// On bare local tensors the shapes must follow from the group; on distributed
/// types shapes are global and stay. The extent of `growing` is multiplied
/// (gather), that of `shrinking` divided (scatter, slice) by the number of
/// members; -1 = none.
static LogicalResult verifyShape(Operation *op, GroupAttr group,
                                 int64_t growing, int64_t shrinking) {
  ArrayRef<int64_t> from = shape(op->getOperand(0)),
                    to = shape(op->getResult(0));
  int64_t members = group.getNumMembers();
  bool distributed = bool(getDist(op->getOperand(0)));
  SmallVector<int64_t> expected(from);
  auto scale = [&](int64_t dim, bool grows) -> LogicalResult {
    int64_t &extent = expected[dim];
    if (distributed || ShapedType::isDynamic(extent))
      return success();
    if (!grows && extent % members != 0)
      return op->emitOpError("dimension ")
             << dim << " of extent " << extent << " does not split over "
             << members << " members of "
             << toString(group.getMesh(), group.getAxes()) << "; pad it to "
             << llvm::alignTo(extent, members) << " or name fewer axes";
    if (grows && llvm::MulOverflow(extent, members, extent))
      return op->emitOpError("dimension ")
             << dim << " of extent " << from[dim] << " gathered over "
             << members << " members has more than 2^63 elements";
    if (!grows)
      extent /= members;
    return success();
  };
  if ((growing >= 0 && failed(scale(growing, true))) ||
      (shrinking >= 0 && failed(scale(shrinking, false))))
    return failure();
  if (compatible(to, expected))
    return success();
  return op->emitOpError("result shape does not follow from the group of ")
         << members << " members: [" << to << "], expected [" << expected
         << "] of [" << from << "]";
}

LogicalResult AllReduceOp::verify() {
  return failure(failed(verifyShape(*this, getGroup(), -1, -1)) ||
                 failed(verifyChange(*this, getGroup(), [&](Change &change) {
                   change.reduce(getGroup().getAxes(), getKind());
                 })));
}

LogicalResult KeepFirstOp::verify() {
  return failure(failed(verifyShape(*this, getGroup(), -1, -1)) ||
                 failed(verifyChange(*this, getGroup(), [&](Change &change) {
                   change.keepFirst(getGroup().getAxes());
                 })));
}

LogicalResult AllGatherOp::verify() {
  return failure(failed(verifyDim(*this, getDim())) ||
                 failed(verifyShape(*this, getGroup(), getDim(), -1)) ||
                 failed(verifyChange(*this, getGroup(), [&](Change &change) {
                   change.gather(getDim(), getGroup().getAxes());
                 })));
}

LogicalResult ReduceScatterOp::verify() {
  return failure(failed(verifyDim(*this, getDim())) ||
                 failed(verifyShape(*this, getGroup(), -1, getDim())) ||
                 failed(verifyChange(*this, getGroup(), [&](Change &change) {
                   change.reduce(getGroup().getAxes(), getKind());
                   if (change.problem.empty())
                     change.split(getDim(), getGroup().getAxes());
                 })));
}

LogicalResult ShardSliceOp::verify() {
  return failure(failed(verifyDim(*this, getDim())) ||
                 failed(verifyShape(*this, getGroup(), -1, getDim())) ||
                 failed(verifyChange(*this, getGroup(), [&](Change &change) {
                   change.split(getDim(), getGroup().getAxes());
                 })));
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
    return op->emitOpError("counts members on another mesh, (")
           << describe(to.getMesh()) << "), than that of its group, ("
           << describe(group.getMesh()) << "); use one mesh";
  if (inMeshOrder(group.getAxes()) != inMeshOrder(to.getAxes()))
    return op->emitOpError("counts members by ")
           << toString(to.getMesh(), to.getAxes())
           << ", which are not the axes of its group "
           << toString(group.getMesh(), group.getAxes())
           << "; name those axes in another order";
  return success();
}

LogicalResult AllToAllOp::verify() {
  GroupAttr to = getTo().value_or(getGroup());
  if (getTo()) {
    if (failed(verifyOrder(*this, getGroup(), to)))
      return failure();
    SmallVector<AxisRef> members(getGroup().getAxes());
    SmallVector<AxisRef> blocks(to.getAxes());
    if (!cutAlike(members, blocks))
      return emitOpError("counts blocks by ")
             << toString(getGroup().getMesh(), blocks)
             << ", which cannot be cut into the same sub-axes as its group "
             << toString(getGroup().getMesh(), members);
  }
  if (failed(verifyDim(*this, getConcatDim())) ||
      failed(verifyDim(*this, getSplitDim())) ||
      failed(verifyShape(*this, getGroup(), getConcatDim(), getSplitDim())))
    return failure();
  return verifyChange(*this, getGroup(), [&](Change &change) {
    change.gather(getConcatDim(), getGroup().getAxes());
    if (change.problem.empty())
      change.split(getSplitDim(), to.getAxes());
  });
}

LogicalResult PermuteOp::verify() {
  if (failed(verifyOrder(*this, getGroup(), getTo())) ||
      failed(verifyShape(*this, getGroup(), -1, -1)))
    return failure();
  int64_t members = getGroup().getNumMembers(), shift = getShift();
  if (shift < 0 || shift >= members)
    return emitOpError("goes ") << shift << " members on; of " << members
                                << " it can be 0 to " << members - 1;
  return verifyChange(*this, getGroup(), [&](Change &change) {
    if (shift != 0)
      change.problem = "goes " + std::to_string(shift) +
                       " members on, which makes no distribution: only local "
                       "values do";
    else
      change.permute(getGroup(), getTo());
  });
}
