//===- SegmentPlan.cpp - where the values of a segment live ---------------===//

#include "SegmentPlan.h"

#include "ExchangeBlocks.h"

#include "stretto/Runtime/AttentionWorkspace.h"
#include "stretto/Transforms/Memory/Packing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace stretto;

//===----------------------------------------------------------------------===//
// ResultPlacement
//===----------------------------------------------------------------------===//

/// The argument of which `value` is the same storage after updates in place or
/// reductions, or null.
static BlockArgument rootArgument(Value value) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    int tied = isa<AllReduceOp>(op) ? 0 : SegmentPlan::tiedOperand(result);
    if (tied < 0)
      return {};
    value = op->getOperand(tied);
  }
  return cast<BlockArgument>(value);
}

/// The accumulator that the reduced gradient `value` may take, or -1.
static int consumedAccumulator(SegmentOp segment, Value value) {
  BlockArgument root = rootArgument(value);
  if (!root ||
      exec::tensorBytes(root.getType()) != exec::tensorBytes(value.getType()))
    return -1;
  auto role =
      segment.getArgAttrOfType<StringAttr>(root.getArgNumber(), attr::role);
  return role && role.getValue() == "accumulator" ? root.getArgNumber() : -1;
}

FailureOr<ResultPlacement> ResultPlacement::of(SegmentOp segment) {
  Operation *yield = segment.getBody().front().getTerminator();
  unsigned numArguments = segment.getArgumentTypes().size();
  llvm::SmallSet<int, 8> taken;
  SmallVector<int> aliases(yield->getNumOperands(), -1);
  for (unsigned i = 0; i < aliases.size(); ++i)
    if (auto alias = segment.getResultAttrOfType<IntegerAttr>(i, attr::alias)) {
      aliases[i] = alias.getInt();
      taken.insert(aliases[i]);
    }
  if (segment.getDirection() == "reduce")
    for (unsigned i = 0; i < aliases.size(); ++i) {
      int consumed = consumedAccumulator(segment, yield->getOperand(i));
      if (aliases[i] < 0 && consumed >= 0 && taken.insert(consumed).second)
        aliases[i] = consumed;
    }
  ResultPlacement placement;
  placement.numArguments = numArguments;
  for (int alias : aliases) {
    placement.updatesOperand.push_back(alias >= 0);
    placement.argument.push_back(alias >= 0 ? unsigned(alias)
                                            : placement.numArguments++);
  }
  return placement;
}

//===----------------------------------------------------------------------===//
// SegmentPlan
//===----------------------------------------------------------------------===//

int SegmentPlan::tiedOperand(OpResult result) {
  Operation *op = result.getOwner();
  if (auto launch = dyn_cast<LaunchOp>(op))
    return launch.getAliases()[result.getResultNumber()];
  if (auto gemm = dyn_cast<GemmOp>(op))
    return gemm.getAcc() ? 2 : -1;
  return -1;
}

ArrayRef<BufferCopy> SegmentPlan::copiesBefore(Operation *op) const {
  auto found = copies.find(op);
  return found == copies.end() ? ArrayRef<BufferCopy>()
                               : ArrayRef<BufferCopy>(found->second);
}

const Buffer *SegmentPlan::workspaceOf(Operation *op) const {
  auto found = workspaces.find(op);
  return found == workspaces.end() ? nullptr : &buffers[found->second];
}

bool SegmentPlan::isEmpty(SegmentOp segment) const {
  Operation *yield = segment.getBody().front().getTerminator();
  return &segment.getBody().front().front() == yield &&
         copiesBefore(yield).empty();
}

template <typename AttentionT>
static uint64_t attentionBytes(AttentionT op, bool backward) {
  auto q = cast<RankedTensorType>(op.getQ().getType());
  auto k = cast<RankedTensorType>(op.getK().getType());
  return runtime::attentionWorkspaceBytes(
      {backward, q.getDimSize(0), q.getDimSize(1), k.getDimSize(1),
       q.getDimSize(2), k.getDimSize(2), q.getDimSize(3), op.getCausal(),
       q.getElementType().isBF16()});
}

uint64_t stretto::workspaceBytes(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return attentionBytes(attention, false);
  if (auto attention = dyn_cast<AttentionGradOp>(op))
    return attentionBytes(attention, true);
  if (auto exchange = dyn_cast<AllToAllOp>(op))
    return ExchangeBlocks::of(exchange).needsMove()
               ? exec::tensorBytes(exchange.getX().getType())
               : 0;
  return 0;
}

namespace stretto {
/// Fills a SegmentPlan: buffers for values, then memory for buffers.
class SegmentPlanner {
public:
  SegmentPlanner(SegmentOp segment, SegmentPlan &plan)
      : segment(segment), block(segment.getBody().front()), plan(plan) {}

  void run() {
    number();
    for (BlockArgument argument : block.getArguments()) {
      unsigned index = newBuffer(argument, -1);
      plan.buffers[index].argument = argument.getArgNumber();
    }
    for (Operation &op : block.without_terminator())
      visit(op);
    touchOperands(*block.getTerminator());
    placeResults();
    packScratch();
  }

private:
  /// Times, and the last use of every value.
  void number() {
    for (Operation &op : block) {
      for (Value operand : op.getOperands())
        lastUse[operand] = end;
      timeOf[&op] = end++;
    }
    --end; // the terminator's time
  }

  unsigned newBuffer(Value value, int64_t time) {
    Buffer buffer;
    buffer.bytes = exec::tensorBytes(value.getType());
    buffer.first = buffer.last = time;
    plan.buffers.push_back(buffer);
    return plan.byValue[value] = plan.buffers.size() - 1;
  }

  void touch(unsigned buffer, int64_t time) {
    plan.buffers[buffer].last = std::max(plan.buffers[buffer].last, time);
  }
  void touchOperands(Operation &op) {
    for (Value operand : op.getOperands())
      touch(plan.byValue[operand], timeOf[&op]);
  }

  void visit(Operation &op) {
    touchOperands(op);
    int64_t time = timeOf[&op];
    for (OpResult result : op.getResults()) {
      int tied = SegmentPlan::tiedOperand(result);
      bool free = isa<AllReduceOp>(op); // works in place and otherwise
      int operand = tied < 0 && free ? 0 : tied;
      if (operand >= 0 && canOverwrite(op, operand)) {
        plan.byValue[result] = plan.byValue[op.getOperand(operand)];
        touch(plan.byValue[result], time);
        plan.versions[result] = plan.buffers[plan.byValue[result]].versions++;
        continue;
      }
      unsigned buffer = newBuffer(result, time);
      if (tied >= 0) // the copy, then the update of it
        plan.versions[result] = plan.buffers[buffer].versions++;
      if (tied >= 0)
        plan.copies[&op].push_back(
            {plan.byValue[op.getOperand(tied)], buffer, op.getOperand(tied)});
    }
    if (uint64_t bytes = workspaceBytes(&op)) {
      plan.workspaces[&op] = plan.buffers.size();
      plan.buffers.push_back({bytes, time, time, std::nullopt});
    }
  }

  /// Whether nobody needs operand `index` of `op` afterwards and its memory may
  /// change: scratch, or an argument that some result updates.
  bool canOverwrite(Operation &op, int index) {
    Value operand = op.getOperand(index);
    if (lastUse[operand] > timeOf[&op] ||
        llvm::count(op.getOperands(), operand) > 1)
      return false;
    std::optional<unsigned> argument =
        plan.buffers[plan.byValue[operand]].argument;
    if (!argument)
      return true;
    for (auto [target, updates] :
         llvm::zip(plan.results.argument, plan.results.updatesOperand))
      if (updates && target == *argument)
        return true;
    return false;
  }

  /// Yielded values move into the memory arguments of their results, directly
  /// when their buffer is free to be there, else by a copy at the end.
  void placeResults() {
    Operation *yield = block.getTerminator();
    SmallVector<BufferCopy> moves;
    for (auto [index, value] : llvm::enumerate(yield->getOperands())) {
      unsigned target = plan.results.argument[index];
      unsigned source = plan.byValue[value];
      Buffer &buffer = plan.buffers[source];
      if (buffer.argument == target)
        continue;
      if (!buffer.argument && isFreeBefore(target, buffer.first)) {
        buffer.argument = target;
        continue;
      }
      moves.push_back({source, bufferOfArgument(target, buffer.bytes), value});
    }
    addMoves(yield, moves);
  }

  /// Whether the argument's old content is dead before `time`.
  bool isFreeBefore(unsigned argument, int64_t time) {
    return argument >= block.getNumArguments() ||
           plan.buffers[argument].last < time;
  }

  unsigned bufferOfArgument(unsigned argument, uint64_t bytes) {
    for (auto [index, buffer] : llvm::enumerate(plan.buffers))
      if (buffer.argument == argument)
        return index;
    plan.buffers.push_back({bytes, end, end, argument});
    return plan.buffers.size() - 1;
  }

  /// Copies at the end happen as if at once: a source that another copy
  /// overwrites is saved first.
  void addMoves(Operation *yield, ArrayRef<BufferCopy> moves) {
    SmallVector<BufferCopy> &copies = plan.copies[yield];
    SmallVector<BufferCopy> final;
    for (BufferCopy move : moves) {
      bool overwritten = llvm::any_of(
          moves, [&](BufferCopy other) { return other.to == move.from; });
      if (overwritten) {
        unsigned saved = plan.buffers.size();
        plan.buffers.push_back(
            {plan.buffers[move.from].bytes, end, end, std::nullopt});
        copies.push_back({move.from, saved, move.value});
        move.from = saved;
        move.value = Value();
      }
      final.push_back(move);
    }
    copies.append(final.begin(), final.end());
  }

  void packScratch() {
    SmallVector<Lifetime> lifetimes;
    for (const Buffer &buffer : plan.buffers)
      lifetimes.push_back(
          {buffer.first, buffer.last, buffer.argument ? 0 : buffer.bytes});
    Packing packing = pack(lifetimes, exec::bufferAlignment);
    unsigned number = 0;
    for (auto [buffer, offset] : llvm::zip(plan.buffers, packing.offsets)) {
      buffer.offset = offset;
      if (buffer.argument)
        continue;
      buffer.number = number;
      number += buffer.versions;
    }
    plan.scratch = packing.bytes;
  }

  SegmentOp segment;
  Block &block;
  SegmentPlan &plan;
  llvm::DenseMap<Operation *, int64_t> timeOf;
  llvm::DenseMap<Value, int64_t> lastUse;
  int64_t end = 0;
};
} // namespace stretto

FailureOr<SegmentPlan> SegmentPlan::make(SegmentOp segment) {
  SegmentPlan plan;
  FailureOr<ResultPlacement> placement = ResultPlacement::of(segment);
  if (failed(placement))
    return failure();
  plan.results = std::move(*placement);
  SegmentPlanner(segment, plan).run();
  return plan;
}
