//===- PlanReshards.cpp - reshards become slices and collectives ----------===//
//
// A reshard is taken apart in the order that moves the least: partial axes
// first (reduce-scatter where the target appends the axis to a dimension,
// all-reduce otherwise, once everything that can shrink the value has), then
// axes that move between dimensions (all-to-all), then gathers, then slices.
//
//===----------------------------------------------------------------------===//

#include "Requests.h"
#include "mlir/IR/Builders.h"
#include "stretto/Transforms/Shard/Passes.h"

namespace stretto {
#define GEN_PASS_DEF_PLANRESHARDSPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

namespace {

using DimAxes = SmallVector<SmallVector<AxisRef>>;

/// Builds the steps of one reshard, tracking what the value looks like.
class ReshardBuilder {
public:
  ReshardBuilder(ReshardOp op)
      : op(op), builder(op), value(op.getX()), from(getDist(op.getX())),
        target(getDist(op.getResult())), dims(from.getDims()),
        partial(from.getPartialAxes()), padded(from.getPaddedExtents()) {}

  Value build();

private:
  ArrayRef<int64_t> shape() {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  bool appends(unsigned dim, ArrayRef<AxisRef> axes);
  void reducePartials();
  void becomePartial();
  void moveAxes();
  void gather();
  void slice();
  void setPadding(unsigned dim, int64_t extent);
  RankedTensorType currentType();
  GroupAttr group(ArrayRef<AxisRef> axes) {
    return GroupAttr::get(op.getContext(), from.getMesh(), axes);
  }
  /// Is splitting dimension `dim` over its target axes possible with the
  /// padding it has now?
  int64_t targetExtent(unsigned dim) { return target.getPaddedExtents()[dim]; }
  template <typename OpT, typename... Args> void emit(Args... args) {
    value = OpT::create(builder, op.getLoc(), currentType(), value, args...,
                        op.getCauseAttr());
  }

  ReshardOp op;
  OpBuilder builder;
  Value value;
  DistAttr from, target;
  DimAxes dims;
  SmallVector<AxisRef> partial;
  SmallVector<int64_t> padded;
};

} // namespace

/// Is `prefix` the beginning of `axes`?
static bool isPrefix(ArrayRef<AxisRef> prefix, ArrayRef<AxisRef> axes) {
  return prefix.size() <= axes.size() &&
         axes.take_front(prefix.size()) == prefix;
}

RankedTensorType ReshardBuilder::currentType() {
  ReduceKind kind = partial.empty()
                        ? ReduceKind::Sum
                        : (from.isPartial() ? from.getPartialKind()
                                            : target.getPartialKind());
  return withDist(cast<RankedTensorType>(op.getX().getType()),
                  DistAttr::get(op.getContext(), from.getMesh(), dims, partial,
                                kind, padded));
}

/// Padding of a dimension can only change while it is whole on every rank.
void ReshardBuilder::setPadding(unsigned dim, int64_t extent) {
  if (padded[dim] == extent)
    return;
  padded[dim] = extent;
  emit<PadExtentOp>();
}

/// Does the target have `axes` right after the axes that `dim` has now?
bool ReshardBuilder::appends(unsigned dim, ArrayRef<AxisRef> axes) {
  SmallVector<AxisRef> longer = dims[dim];
  llvm::append_range(longer, axes);
  return isPrefix(canonicalAxes(longer), target.getDimAxes(dim));
}

void ReshardBuilder::reducePartials() {
  SmallVector<AxisRef> rest = subtractAxes(partial, target.getPartialAxes());
  SmallVector<AxisRef> staying = subtractAxes(partial, rest);
  // Scatter what the target wants scattered: it makes the value smaller.
  for (bool progress = true; progress;) {
    progress = false;
    for (unsigned dim = 0; dim < dims.size() && !progress; ++dim)
      for (AxisRef axis : SmallVector<AxisRef>(rest)) {
        if (!appends(dim, axis))
          continue;
        if (dims[dim].empty())
          setPadding(dim, targetExtent(dim));
        else if (padded[dim] != targetExtent(dim))
          continue;
        llvm::erase(rest, axis);
        partial = staying;
        llvm::append_range(partial, rest);
        dims[dim].push_back(axis);
        dims[dim] = canonicalAxes(dims[dim]);
        emit<ReduceScatterOp>(
            group(axis),
            ReduceKindAttr::get(op.getContext(), from.getPartialKind()),
            builder.getI64IntegerAttr(dim));
        progress = true;
        break;
      }
  }
  if (rest.empty())
    return;
  partial = staying;
  emit<AllReduceOp>(
      group(rest), ReduceKindAttr::get(op.getContext(), from.getPartialKind()));
}

/// Replicated over an axis to partial over it: the value stays on member 0.
void ReshardBuilder::becomePartial() {
  SmallVector<AxisRef> added = subtractAxes(target.getPartialAxes(), partial);
  if (added.empty())
    return;
  llvm::append_range(partial, added);
  llvm::sort(partial);
  partial = canonicalAxes(partial);
  emit<KeepFirstOp>(group(added));
}

/// Axes at the end of one dimension that the target has at the end of another.
void ReshardBuilder::moveAxes() {
  for (unsigned source = 0; source < dims.size(); ++source) {
    if (dims[source].empty() ||
        isPrefix(dims[source], target.getDimAxes(source)))
      continue;
    AxisRef axis = dims[source].back();
    for (unsigned dest = 0; dest < dims.size(); ++dest) {
      if (dest == source || !appends(dest, axis) || padded[source] != 0)
        continue;
      if (dims[dest].empty())
        setPadding(dest, targetExtent(dest));
      else if (padded[dest] != targetExtent(dest))
        continue;
      dims[source].pop_back();
      dims[dest].push_back(axis);
      dims[dest] = canonicalAxes(dims[dest]);
      emit<AllToAllOp>(group(axis), builder.getI64IntegerAttr(dest),
                       builder.getI64IntegerAttr(source));
      break;
    }
  }
}

/// Gathers the minor axes that the target does not have; a dimension whose
/// padding must change is gathered whole.
void ReshardBuilder::gather() {
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    ArrayRef<AxisRef> wanted = target.getDimAxes(dim);
    SmallVector<AxisRef> kept = dims[dim];
    while (!isPrefix(kept, wanted))
      kept.pop_back();
    // tp of 4 against tp:(1)2: the common part is the major sub-axis.
    if (kept.size() < dims[dim].size() && kept.size() < wanted.size()) {
      AxisRef has = dims[dim][kept.size()], want = wanted[kept.size()];
      if (has.axis == want.axis && has.pre == want.pre &&
          has.size % want.size == 0) {
        kept.push_back(want);
      }
    }
    int64_t extent = targetExtent(dim);
    if (padded[dim] != extent)
      kept.clear();
    int64_t keptShards = productOf(kept), shards = productOf(dims[dim]);
    if (keptShards == shards)
      continue;
    auto split = splitAxes(dims[dim], {keptShards, shards / keptShards});
    dims[dim] = kept;
    emit<AllGatherOp>(group((*split)[1]), builder.getI64IntegerAttr(dim));
  }
}

void ReshardBuilder::slice() {
  for (unsigned dim = 0; dim < dims.size(); ++dim) {
    ArrayRef<AxisRef> wanted = target.getDimAxes(dim);
    if (dims[dim].empty())
      setPadding(dim, targetExtent(dim));
    int64_t have = productOf(dims[dim]), want = productOf(wanted);
    if (have == want)
      continue;
    auto split = splitAxes(wanted, {have, want / have});
    dims[dim].assign(wanted.begin(), wanted.end());
    emit<ShardSliceOp>(group((*split)[1]), builder.getI64IntegerAttr(dim));
  }
}

Value ReshardBuilder::build() {
  reducePartials();
  moveAxes();
  gather();
  slice();
  becomePartial();
  return value;
}

namespace {
struct PlanReshardsPass
    : stretto::impl::PlanReshardsPassBase<PlanReshardsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](ReshardOp op) {
      if (!getDist(op.getX()) || !getDist(op.getResult())) {
        op.emitOpError("needs a distribution on both sides; run assign first");
        return WalkResult::interrupt();
      }
      Value value = ReshardBuilder(op).build();
      if (value.getType() != op.getResult().getType()) {
        op.emitOpError("cannot be planned: reached ")
            << value.getType() << ", wanted " << op.getResult().getType();
        return WalkResult::interrupt();
      }
      op.getResult().replaceAllUsesWith(value);
      op.erase();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
