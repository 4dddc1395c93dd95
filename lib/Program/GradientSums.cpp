//===- GradientSums.cpp - what a gradient was summed over -----------------===//

#include "GradientSums.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace stretto;

bool stretto::overlap(const program::AxisRef &a, const program::AxisRef &b) {
  return a.axis() == b.axis() && a.pre() < uint64_t(b.pre()) * b.size() &&
         b.pre() < uint64_t(a.pre()) * a.size();
}

bool stretto::covers(const std::vector<program::AxisRef> &axes,
                     const program::AxisRef &wanted) {
  uint64_t at = wanted.pre(), end = at * wanted.size();
  while (at < end) {
    uint64_t next = at;
    for (const program::AxisRef &axis : axes)
      if (axis.axis() == wanted.axis() && axis.pre() <= at)
        next = std::max(next, uint64_t(axis.pre()) * axis.size());
    if (next == at)
      return false;
    at = next;
  }
  return true;
}

namespace {

class Tracer {
public:
  Tracer(const program::Program &program, const program::Slot &gradient)
      : program(program), wanted({rangeOf(gradient)}) {}

  GradientSums run(const program::Function &train) {
    SmallVector<const program::Call *> calls;
    llvm::append_range(calls, all(train.calls()));
    for (const program::Call *call : llvm::reverse(calls))
      if (touches(*call))
        visit(*call);
    return std::move(sums);
  }

private:
  bool isWanted(const MemoryRange &range) const {
    return llvm::any_of(wanted, [&](const MemoryRange &other) {
      return range.overlaps(other);
    });
  }
  bool touches(const program::Call &call) const {
    return llvm::any_of(all(call.arguments()), [&](const program::Slot *slot) {
      return isWanted(rangeOf(*slot));
    });
  }

  void visit(const program::Call &call) {
    SmallVector<const program::Command *> commands;
    llvm::append_range(commands, all(segmentOf(program, call).commands()));
    for (const program::Command *command : llvm::reverse(commands))
      visit(call, *command);
    llvm::erase_if(wanted, [](const MemoryRange &range) {
      return range.region == program::Region::Scratch;
    });
  }

  void visit(const program::Call &call, const program::Command &command) {
    bool makes =
        llvm::any_of(all(command.operands()), [&](const auto *operand) {
          return writes(operand->access()) && isWanted(rangeOf(call, *operand));
        });
    if (!makes)
      return;
    const program::Collective *collective = command.payload_as_Collective();
    if (collective)
      add(*collective);
    sums.computed |= !collective && !command.payload_as_Fill();
    for (const program::Operand *operand : all(command.operands()))
      if (writes(operand->access()) && !reads(operand->access()))
        drop(rangeOf(call, *operand));
    for (const program::Operand *operand : all(command.operands()))
      if (reads(operand->access()))
        want(rangeOf(call, *operand));
  }

  void add(const program::Collective &collective) {
    if (collective.reduce() != program::ReduceKind::Sum ||
        (collective.kind() != program::CollectiveKind::AllReduce &&
         collective.kind() != program::CollectiveKind::ReduceScatter))
      return;
    for (const program::AxisRef *ref :
         all(program.groups()->Get(collective.group())->axes()))
      sums.axes.push_back(*ref);
  }

  /// What is overwritten came from nowhere before.
  void drop(const MemoryRange &written) {
    llvm::erase_if(wanted, [&](const MemoryRange &range) {
      return sharesMemory(range.region, written.region) &&
             written.bytes.begin <= range.bytes.begin &&
             range.bytes.end <= written.bytes.end;
    });
  }

  /// Sums are made in scratch and kept in accumulators; samples are elsewhere.
  void want(const MemoryRange &range) {
    bool carriesSums = range.region == program::Region::Scratch ||
                       range.region == program::Region::Gradients;
    if (carriesSums && !llvm::is_contained(wanted, range))
      wanted.push_back(range);
  }

  const program::Program &program;
  SmallVector<MemoryRange> wanted;
  GradientSums sums;
};

} // namespace

GradientSums stretto::sumsOf(const program::Program &program,
                             const program::Function &train,
                             const program::Slot &gradient) {
  return Tracer(program, gradient).run(train);
}
