//===- ExpandHalos.cpp - windows whose elements cross shard borders -------===//
//
// A window over a group becomes collectives and windows on one member. There
// are three ways, and the one that sends the fewest bytes is taken:
//
//  * shifts: from every shard that is h further on comes just what is needed of
//    it, in a permutation round the ring for every h;
//  * scatter: every member makes its part of the whole result, zeros elsewhere,
//    and the parts are added where they belong (reduce-scatter);
//  * gather: every member gets all shards and takes what it needs.
//
// Position is what the window reads, counted from the member's own shard: that
// of element i of member q is start + drift * q + stride * i, where the drift
// is what a block of the result and a shard of the operand differ by. The shard
// h further on has the positions [h * width, (h + 1) * width).
//
//===----------------------------------------------------------------------===//

#include "Composer.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace stretto;
using namespace stretto::compose;

/// Past this many shards are gathered or scattered: the program must not grow
/// with the mesh.
static constexpr int64_t maxShifts = 16;

namespace {

/// Elements of a block, from `begin` to before `end`.
struct Interval {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

class Halo {
public:
  Halo(WindowOp op, OpBuilder &b)
      : op(op), b(b), c(b, op), dim(op.getDim()), start(op.getStart()),
        stride(op.getStride()), dilation(op.getDilation()),
        members(op.getGroupAttr().getNumMembers()),
        shard(shapeOf(op.getX())[dim]), block(shapeOf(op.getResult())[dim]),
        width(shard * dilation), drift(stride * block - width) {
    if (width == 0)
      return; // nothing to read
    auto [first, last] = std::minmax(
        {positionOf(0, 0), positionOf(0, block - 1), positionOf(members - 1, 0),
         positionOf(members - 1, block - 1)});
    firstShift = std::max(1 - members, llvm::divideFloorSigned(first, width));
    lastShift = std::min(members - 1, llvm::divideFloorSigned(last, width));
  }

  Value build() {
    if (block == 0 || shard == 0)
      return onMember(op.getX(), block, start, {});
    int64_t gather = (members - 1) * shard;
    int64_t scatter = canAdd() ? (members - 1) * block : none;
    int64_t shifts = elementsShifted();
    if (shifts <= std::min(gather, scatter))
      return byShifts();
    return scatter < gather ? byScatter() : byGather();
  }

private:
  static constexpr int64_t none = std::numeric_limits<int64_t>::max();

  int64_t positionOf(int64_t member, int64_t element) const {
    return start + drift * member + stride * element;
  }
  Type elementType() { return op.getX().getType().getElementType(); }
  bool canAdd() { return isa<FloatType>(elementType()); }

  Interval neededFrom(int64_t shift) const;
  int64_t elementsShifted() const;
  Value byShifts();
  Value shifted(int64_t shift, Interval needed);
  Value byScatter();
  Value byGather();

  /// A window of one member; `offset` is added to the start.
  Value onMember(Value x, int64_t size, int64_t from, OffsetAttr offset) {
    Value taken = c.window(x, dim, size, from, stride, dilation);
    if (offset)
      taken.getDefiningOp<WindowOp>().setOffsetAttr(offset);
    return taken;
  }
  /// `coefficient` times the member's index.
  OffsetAttr times(int64_t coefficient) {
    if (coefficient == 0)
      return {};
    GroupAttr group = op.getGroupAttr();
    ArrayRef<AxisRef> axes = group.getAxes();
    SmallVector<int64_t> coefficients(axes.size(), coefficient);
    for (unsigned i = axes.size(); i-- > 1;)
      coefficients[i - 1] = coefficients[i] * axes[i].size;
    return OffsetAttr::get(group.getContext(), group.getMesh(), axes,
                           coefficients, /*microbatch=*/0);
  }
  StringAttr cause() {
    return op.getCauseAttr()
               ? op.getCauseAttr()
               : b.getStringAttr("elements that cross the borders of shards");
  }
  RankedTensorType withExtent(int64_t extent) {
    SmallVector<int64_t> shape(shapeOf(op.getX()));
    shape[dim] = extent;
    return RankedTensorType::get(shape, elementType());
  }

  WindowOp op;
  OpBuilder &b;
  Composer c;
  int64_t dim, start, stride, dilation, members, shard, block, width, drift;
  int64_t firstShift = 0, lastShift = 0;
};

} // namespace

/// The elements of a block whose positions lie in the shard `shift` further on,
/// for any member. Both ends move one way with the member's index, so that the
/// first and the last member that read there have the extremes.
Interval Halo::neededFrom(int64_t shift) const {
  int64_t first = std::max<int64_t>(0, -shift);
  int64_t last = std::min(members - 1, members - 1 - shift);
  // Of the positions, the last must not lie before the shard, nor the first
  // behind it.
  int64_t least = shift * width - start - stride * (block - 1);
  int64_t most = (shift + 1) * width - 1 - start;
  if (drift == 0 && (least > 0 || most < 0))
    return {0, 0};
  if (drift > 0) {
    first = std::max(first, llvm::divideCeilSigned(least, drift));
    last = std::min(last, llvm::divideFloorSigned(most, drift));
  } else if (drift < 0) {
    first = std::max(first, llvm::divideCeilSigned(-most, -drift));
    last = std::min(last, llvm::divideFloorSigned(-least, -drift));
  }
  if (first > last)
    return {0, 0};
  auto from = [&](int64_t member, int64_t position) {
    return std::clamp<int64_t>(
        llvm::divideCeilSigned(position - start - drift * member, stride), 0,
        block);
  };
  return {std::min(from(first, shift * width), from(last, shift * width)),
          std::max(from(first, (shift + 1) * width),
                   from(last, (shift + 1) * width))};
}

int64_t Halo::elementsShifted() const {
  if (lastShift - firstShift > maxShifts)
    return none;
  int64_t sum = 0;
  for (int64_t shift = firstShift; shift <= lastShift; ++shift)
    sum += shift == 0 ? 0 : neededFrom(shift).size();
  return sum;
}

/// What is needed from the shard `shift` further on, in its place of the block.
Value Halo::shifted(int64_t shift, Interval needed) {
  // The sender is member q + shift, and positions are those of member q.
  Value sent =
      onMember(op.getX(), needed.size(),
               positionOf(-shift, needed.begin) - shift * width, times(drift));
  GroupAttr group = op.getGroupAttr();
  Value got = PermuteOp::create(
      b, op.getLoc(), sent.getType(), sent, group, group,
      b.getI64IntegerAttr((shift + members) % members), cause());
  // Round the ring comes what lies on the other side of the whole.
  Value at = c.iota(got, dim, times(needed.size()));
  Value exists = shift > 0
                     ? c.compare(ComparePredicate::LT, at,
                                 c.integer((members - shift) * needed.size()))
                     : c.compare(ComparePredicate::GE, at,
                                 c.integer(-shift * needed.size()));
  got = c.select(exists, got, c.scalarLike(got, 0));
  return needed.size() == block ? got
                                : c.window(got, dim, block, -needed.begin);
}

/// Every element comes from one shard and is zero in what comes from others.
Value Halo::byShifts() {
  Value result = onMember(op.getX(), block, start, times(drift));
  for (int64_t shift = firstShift; shift <= lastShift; ++shift) {
    Interval needed = neededFrom(shift);
    if (shift == 0 || needed.size() == 0)
      continue;
    Value part = shifted(shift, needed);
    if (elementType().isInteger(1))
      result = c.select(part, part, result);
    else
      result = c.add(result, part);
  }
  return result;
}

Value Halo::byScatter() {
  Value all = onMember(op.getX(), members * block, start, times(-width));
  return ReduceScatterOp::create(
      b, op.getLoc(), withExtent(block), all, op.getGroupAttr(),
      ReduceKindAttr::get(b.getContext(), ReduceKind::Sum),
      b.getI64IntegerAttr(dim), cause());
}

Value Halo::byGather() {
  Value whole = AllGatherOp::create(b, op.getLoc(), withExtent(members * shard),
                                    op.getX(), op.getGroupAttr(),
                                    b.getI64IntegerAttr(dim), cause());
  return onMember(whole, block, start, times(stride * block));
}

void stretto::expandHalos(SegmentOp segment) {
  SmallVector<WindowOp> windows;
  segment.walk([&](WindowOp op) {
    if (op.getGroup())
      windows.push_back(op);
  });
  for (WindowOp window : windows) {
    OpBuilder b(window);
    window.replaceAllUsesWith(Halo(window, b).build());
    window.erase();
  }
}
