//===- PlanReshards.cpp - reshards become slices and collectives ----------===//
//
// Builds what the search found. Values that must move through more memory than
// they have on either side, or move many bytes, are told to the user.
//
//===----------------------------------------------------------------------===//

#include "Requests.h"
#include "mlir/IR/Builders.h"
#include "stretto/Dialect/Stretto/IR/Describe.h"
#include "stretto/Transforms/Shard/Passes.h"
#include "stretto/Transforms/Shard/ReshardSearch.h"

#include "llvm/Support/FormatVariadic.h"

namespace stretto {
#define GEN_PASS_DEF_PLANRESHARDSPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;
using namespace stretto::shard;

namespace {

/// Builds the operations of one reshard.
class ReshardBuilder {
public:
  explicit ReshardBuilder(ReshardOp op)
      : op(op), builder(op), value(op.getX()), from(getDist(op.getX())),
        target(getDist(op.getResult())) {}

  Value build(const ReshardPath &path) {
    for (const ReshardHop &hop : path.hops)
      take(hop);
    return value;
  }

private:
  void take(const ReshardHop &hop);
  RankedTensorType typeOf(const ReshardState &state);

  GroupAttr group(ArrayRef<AxisRef> axes) {
    return GroupAttr::get(op.getContext(), from.getMesh(), canonicalAxes(axes));
  }
  IntegerAttr number(unsigned dim) { return builder.getI64IntegerAttr(dim); }
  ReduceKind kind() {
    return from.isPartial() ? from.getPartialKind() : target.getPartialKind();
  }
  template <typename OpT, typename... Args>
  void emit(RankedTensorType type, Args... args) {
    value = OpT::create(builder, op.getLoc(), type, value, args...,
                        op.getCauseAttr());
  }

  ReshardOp op;
  OpBuilder builder;
  Value value;
  DistAttr from, target;
};

} // namespace

RankedTensorType ReshardBuilder::typeOf(const ReshardState &state) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  SmallVector<SmallVector<AxisRef>> dims;
  SmallVector<int64_t> padded;
  for (auto [axes, extent, size] :
       llvm::zip(state.dims, state.extents, type.getShape())) {
    dims.emplace_back(axes);
    padded.push_back(extent == size ? 0 : extent);
  }
  return withDist(type, DistAttr::get(op.getContext(), from.getMesh(), dims,
                                      state.partial, kind(), padded));
}

void ReshardBuilder::take(const ReshardHop &hop) {
  using Kind = ReshardStep::Kind;
  const ReshardStep &step = hop.step;
  RankedTensorType type = typeOf(hop.after);
  auto reduction = ReduceKindAttr::get(op.getContext(), kind());
  switch (step.kind) {
  case Kind::Slice:
    return emit<ShardSliceOp>(type, group(step.axes), number(step.dim));
  case Kind::Pad:
    return emit<PadExtentOp>(type);
  case Kind::KeepFirst:
    return emit<KeepFirstOp>(type, group(step.axes));
  case Kind::AllGather:
    return emit<AllGatherOp>(type, group(step.axes), number(step.dim));
  case Kind::AllToAll:
    return emit<AllToAllOp>(
        type, group(step.axes), number(step.dim), number(step.from),
        step.to == step.axes ? GroupAttr() : group(step.to));
  case Kind::ReduceScatter:
    return emit<ReduceScatterOp>(type, group(step.axes), reduction,
                                 number(step.dim));
  case Kind::AllReduce:
    return emit<AllReduceOp>(type, group(step.axes), reduction);
  case Kind::Permute:
    return emit<PermuteOp>(type, group(step.axes), group(step.to), number(0));
  }
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static std::string describe(MeshAttr mesh, const ReshardPath &path) {
  std::string text;
  for (const ReshardHop &hop : path.hops)
    text += (text.empty() ? "" : ", ") + toString(mesh, hop.step);
  return text;
}

static std::string bytesText(double bytes) {
  return llvm::formatv("{0:f0} bytes", bytes);
}

/// A path that is dear is not taken silently.
static void remarkOn(ReshardOp op, const ReshardPath &path, double mostBytes) {
  DistAttr from = getDist(op.getX()), to = getDist(op.getResult());
  auto tell = [&](const Twine &what) {
    InFlightDiagnostic remark = op.emitRemark();
    remark << "moving " << nameOf(op.getX()) << ", "
           << describe(op.getX().getType()) << ", to " << describe(to) << " "
           << what << " (" << describe(from.getMesh(), path) << ")";
    if (std::optional<StringRef> cause = op.getCause())
      remark.attachNote(op.getLoc()) << "moved because: " << *cause;
    return remark;
  };
  if (!path.isWithinLimit())
    tell("needs " + Twine(bytesText(path.peakBytes)) +
         " on every rank for a moment, more than " +
         Twine(bytesText(path.limitBytes)))
            .attachNote(op.getLoc())
        << "the two sides have no shards in common; give the dimension the "
           "same axes on both sides, or sizes of which one divides the other";
  else if (path.bytes > mostBytes)
    tell("sends " + Twine(bytesText(path.bytes)) + " from every rank")
            .attachNote(op.getLoc())
        << "a constraint that lets the value lie alike where it is made and "
           "where it is used avoids this";
  if (!path.isOptimal)
    tell("was not searched to the end: it takes the way through whole values");
}

namespace {
struct PlanReshardsPass
    : stretto::impl::PlanReshardsPassBase<PlanReshardsPass> {
  using PlanReshardsPassBase::PlanReshardsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult result = module.walk([&](ReshardOp op) {
      return failed(plan(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult plan(ReshardOp op) {
    DistAttr from = getDist(op.getX()), to = getDist(op.getResult());
    if (!from || !to)
      return op.emitOpError("leads from ")
             << describe(op.getX().getType()) << " to "
             << describe(op.getResult().getType())
             << "; it needs a distribution on both sides: run assign first";
    FailureOr<ReshardPlanner *> planner = plannerFor(from.getMesh());
    if (failed(planner))
      return failure();
    auto type = cast<RankedTensorType>(op.getX().getType());
    int64_t bits = type.getElementTypeBitWidth();
    const ReshardPath &path =
        (*planner)->plan(from, to, type.getShape(), (bits + 7) / 8);
    remarkOn(op, path, double(remarkBytes));
    Value value = ReshardBuilder(op).build(path);
    if (value.getType() != op.getResult().getType())
      return op.emitOpError("cannot be planned: reached ")
             << describe(value.getType()) << " of " << describe(from)
             << ", wanted " << describe(to)
             << "; write a reshard to whole values and one to what is wanted";
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }

  /// One for every mesh (there is one in a module, as a rule).
  FailureOr<ReshardPlanner *> plannerFor(MeshAttr mesh) {
    std::shared_ptr<ReshardPlanner> &planner = planners[mesh];
    if (!planner) {
      FailureOr<Links> links = Links::of(getOperation(), mesh);
      if (failed(links))
        return failure();
      ReshardOptions options;
      options.memoryFactor = memoryFactor;
      planner = std::make_shared<ReshardPlanner>(*links, options);
    }
    return planner.get();
  }

  llvm::DenseMap<Attribute, std::shared_ptr<ReshardPlanner>> planners;
};
} // namespace
