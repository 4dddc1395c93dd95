//===- Fuse.cpp - local segments to kernels and library calls -------------===//

#include "EinsumToGemm.h"
#include "Outline.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "stretto/Dialect/Stretto/Transforms/Decompose.h"
#include "stretto/Transforms/Fuse/Passes.h"

namespace stretto {
#define GEN_PASS_DEF_FUSEPASS
#include "stretto/Transforms/Fuse/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;

/// Replaces composite operations by their compositions; the pieces remember
/// what they come from, for the kernels' names.
static void decompose(SegmentOp segment) {
  SmallVector<Decomposable> ops;
  segment.walk([&](Decomposable op) { ops.push_back(op); });
  for (Decomposable op : ops) {
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    SmallVector<Value> values = op.decompose(builder);
    if (values.empty())
      continue;
    Operation *piece =
        before ? before->getNextNode() : &op->getBlock()->front();
    auto source = builder.getStringAttr(op->getName().stripDialect());
    for (; piece != op; piece = piece->getNextNode())
      piece->setAttr(attr::source, source);
    op->replaceAllUsesWith(values);
    op->erase();
  }
}

/// Iotas take their shape from a constant, so that they read no memory.
static void detachIotas(SegmentOp segment) {
  segment.walk([](IotaOp op) {
    auto type = cast<RankedTensorType>(op.getLike().getType());
    OpBuilder builder(op);
    op.getLikeMutable().assign(ConstantOp::create(builder, op.getLoc(), type,
                                                  builder.getF64FloatAttr(0)));
  });
}

/// An expression that occurs twice is computed once, one without users never.
/// Why a collective is there does not make it another one: the first says it.
static void simplify(SegmentOp segment) {
  Block &block = segment.getBody().front();
  DenseMap<Operation *, Attribute> causes;
  for (Operation &op : block)
    if (Attribute cause = op.removeAttr("cause"))
      causes[&op] = cause;
  IRRewriter rewriter(segment.getContext());
  DominanceInfo dominance(segment);
  eliminateCommonSubExpressions(rewriter, dominance, segment);
  for (Operation &op : block)
    if (Attribute cause = causes.lookup(&op))
      op.setAttr("cause", cause);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Sums of arguments come first, those of one group together: then they run as
/// one collective. (In `@L.reduce`: the gradients of all parameters.)
static void collectReductions(SegmentOp segment) {
  Block &block = segment.getBody().front();
  llvm::MapVector<Attribute, SmallVector<AllReduceOp>> byGroup;
  for (auto op : block.getOps<AllReduceOp>())
    if (isa<BlockArgument>(op->getOperand(0)))
      byGroup[op.getGroupAttr()].push_back(op);
  Operation *last = nullptr;
  for (auto &[group, ops] : byGroup)
    for (AllReduceOp op : ops) {
      if (last)
        op->moveAfter(last);
      else
        op->moveBefore(&block, block.begin());
      last = op;
    }
}

/// What steers propagation is taken out by assign, what moves values by
/// plan-reshards; steps have words of their own. Here all would have to be
/// kernels.
static LogicalResult checkLocal(SegmentOp segment) {
  for (Operation &op : segment.getBody().front()) {
    if (isa<ZerosOp, InvokeOp, MicrobatchesOp>(op) || op.getNumRegions() ||
        !isa_and_nonnull<StrettoDialect>(op.getDialect()))
      return op.emitOpError("does not belong in a segment; only operations on "
                            "tensors and collectives do");
    if (isa<ConstrainOp, PropagationBarrierOp, ShardAlikeOp, ReshardOp>(op))
      return op.emitOpError("is left before fuse; run propagate, assign, "
                            "plan-reshards and localize");
  }
  return success();
}

namespace {
struct FusePass : stretto::impl::FusePassBase<FusePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<StrettoDialect>();
    registerDecomposableModels(registry);
  }
  void runOnOperation() override {
    KernelTable kernels(getOperation());
    for (auto segment : getOperation().getOps<SegmentOp>())
      if (failed(fuse(segment, kernels)))
        return signalPassFailure();
  }

  LogicalResult fuse(SegmentOp segment, KernelTable &kernels) {
    if (failed(checkLocal(segment)))
      return failure();
    decompose(segment);
    if (failed(expandMovement(segment)))
      return failure();
    detachIotas(segment);
    simplify(segment);
    if (failed(lowerEinsums(segment)))
      return failure();
    auto grouping = groupOperations(segment);
    if (failed(grouping))
      return failure();
    if (failed(outline(segment, *grouping, kernels)))
      return failure();
    collectReductions(segment);
    return success();
  }
};
} // namespace
