//===- CombineCollectives.cpp - small collectives go together -------------===//
//
// Small collectives of one kind and group that do not depend on each other are
// put next to each other: the runtime runs neighbours with the waits of one.
// The sums are the same, element by element.
//
//===----------------------------------------------------------------------===//

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Transforms/Shard/Passes.h"

#include <map>

namespace stretto {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

using namespace mlir;
using namespace stretto;

namespace {

/// What collectives that go together have in common.
using Kind = std::array<const void *, 4>;

/// Collectives that stand next to each other.
struct Run {
  SmallVector<Operation *> members;
  double bytes = 0;
};

class Combiner {
public:
  Combiner(Block &block, double maxBytes) : block(block), maxBytes(maxBytes) {}

  void run() {
    SmallVector<Operation *> collectives;
    for (Operation &op : block)
      if (isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
              op))
        collectives.push_back(&op);
    for (Operation *op : collectives)
      join(op);
  }

private:
  static double bytesOf(Operation *op) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape())
      return std::numeric_limits<double>::infinity();
    return double(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
  }

  void join(Operation *op) {
    double bytes = bytesOf(op);
    if (bytes > maxBytes)
      return;
    auto attribute = [&](StringRef name) {
      return op->getAttr(name).getAsOpaquePointer();
    };
    Kind kind = {op->getName().getAsOpaquePointer(), attribute("group"),
                 attribute("kind"), attribute("to")};
    Run &run = runs[kind];
    bool joins = !run.members.empty() && run.bytes + bytes <= maxBytes &&
                 (hoist(op, run) || sink(op, run));
    if (!joins)
      run = {};
    run.members.push_back(op);
    run.bytes += bytes;
  }

  /// Moves `op` up behind the run if what it reads is there.
  static bool hoist(Operation *op, Run &run) {
    Operation *first = run.members.front(), *last = run.members.back();
    bool isReady = llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return !source || source->isBeforeInBlock(first);
    });
    if (isReady)
      op->moveAfter(last);
    return isReady;
  }

  /// Moves the run down before `op` if nobody needs it earlier.
  bool sink(Operation *op, Run &run) {
    for (Operation *member : run.members)
      for (Operation *user : member->getUsers()) {
        user = block.findAncestorOpInBlock(*user);
        if (!user || user == op || user->isBeforeInBlock(op))
          return false;
      }
    for (Operation *member : run.members)
      member->moveBefore(op);
    return true;
  }

  Block &block;
  double maxBytes;
  std::map<Kind, Run> runs;
};

struct CombineCollectivesPass
    : stretto::impl::CombineCollectivesPassBase<CombineCollectivesPass> {
  using CombineCollectivesPassBase::CombineCollectivesPassBase;

  void runOnOperation() override {
    for (SegmentOp segment : getOperation().getOps<SegmentOp>())
      Combiner(segment.getBody().front(), double(maxBytes)).run();
  }
};

} // namespace
