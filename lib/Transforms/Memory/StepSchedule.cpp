//===- StepSchedule.cpp - order and streams of a step's calls -------------===//

#include "StepSchedule.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace stretto;

std::optional<OverlapOptions> stretto::overlapOf(ModuleOp module) {
  auto overlap = module->getAttrOfType<DictionaryAttr>(attr::overlap);
  if (!overlap)
    return std::nullopt;
  auto number = [&](StringRef name) -> int64_t {
    auto value = overlap.getAs<IntegerAttr>(name);
    return value ? std::max<int64_t>(value.getInt(), 0) : 0;
  };
  return OverlapOptions{uint64_t(number("bucket")),
                        unsigned(number("prefetch"))};
}

namespace {

class Describer {
public:
  Describer(const StepCalls &calls, const SegmentPlans &segments)
      : calls(calls), segments(segments), producer(calls.values.size(), none),
        readers(calls.values.size()) {}

  std::vector<ScheduledCall> run() {
    std::vector<ScheduledCall> described;
    for (auto [index, call] : llvm::enumerate(calls.calls)) {
      described.push_back(describe(call));
      for (unsigned operand : call.operands)
        readers[operand].push_back(index);
      for (unsigned result : call.results)
        producer[result] = index;
    }
    return described;
  }

private:
  static constexpr unsigned none = ~0u;

  ScheduledCall describe(const StepCall &call) {
    ScheduledCall made;
    made.kind = kindOf(call);
    for (unsigned operand : call.operands) {
      if (producer[operand] != none)
        made.needs.push_back(producer[operand]);
      if (made.kind == CallKind::Reduce)
        made.bytes += exec::tensorBytes(calls.values[operand].type);
    }
    const ResultPlacement &placement =
        segments.find(call.segment)->second.placement();
    for (unsigned i = 0; i < call.results.size(); ++i)
      if (placement.updatesOperand[i])
        llvm::append_range(made.needs,
                           readers[call.operands[placement.argument[i]]]);
    llvm::sort(made.needs);
    made.needs.erase(llvm::unique(made.needs), made.needs.end());
    return made;
  }

  CallKind kindOf(const StepCall &call) {
    if (!communicates(call.segment))
      return CallKind::Compute;
    StringRef direction = SegmentOp(call.segment).getDirection();
    if (direction == "reduce")
      return CallKind::Reduce;
    if (direction == "accumulate")
      return CallKind::Accumulate;
    if (direction != "gather")
      return CallKind::Compute;
    return InvokeOp(call.invoke)->getParentOfType<MicrobatchesOp>()
               ? CallKind::Gather
               : CallKind::GatherOnce;
  }

  bool communicates(SegmentOp segment) {
    auto [known, isNew] = communicating.try_emplace(segment);
    if (isNew)
      known->second =
          llvm::any_of(segment.getBody().front().without_terminator(),
                       llvm::IsaPred<AllReduceOp, AllGatherOp, ReduceScatterOp,
                                     AllToAllOp, PermuteOp>);
    return known->second;
  }

  const StepCalls &calls;
  const SegmentPlans &segments;
  SmallVector<unsigned> producer;                // by value
  std::vector<SmallVector<unsigned, 4>> readers; // by value
  llvm::DenseMap<Operation *, bool> communicating;
};

} // namespace

void stretto::scheduleStep(StepCalls &calls, const SegmentPlans &segments,
                           std::optional<OverlapOptions> options) {
  std::vector<Issue> issues =
      scheduleCalls(Describer(calls, segments).run(), options);
  SmallVector<unsigned> order, place(issues.size());
  for (const Issue &issue : issues) {
    place[issue.call] = order.size();
    order.push_back(issue.call);
  }
  calls.reorder(order);
  for (auto [call, issue] : llvm::zip(calls.calls, issues)) {
    call.stream = issue.stream;
    for (unsigned other : issue.after)
      call.after.push_back(place[other]);
  }
}
