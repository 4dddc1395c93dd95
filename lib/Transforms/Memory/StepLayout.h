//===- StepLayout.h - offsets and waits of a step ---------------*- C++ -*-===//
//
// From storages and the calls that touch them: which calls on other streams
// each waits for, and where in the arena every storage lies. Two storages share
// bytes only when one is dead, on every stream, before the other begins; all
// that is not kept across steps lies in one range, whatever category it is of.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_STEPLAYOUT_H
#define STRETTO_TRANSFORMS_MEMORY_STEPLAYOUT_H

#include "StepPlan.h"
#include "stretto/Transforms/Memory/Packing.h"

namespace stretto {

class StepLayout {
public:
  /// `zeros` are made by the first planned call, side by side; `kept` are read
  /// by the host after the step.
  StepLayout(StepPlan &plan, const SegmentPlans &segments,
             llvm::ArrayRef<unsigned> zeros, llvm::ArrayRef<unsigned> kept)
      : plan(plan), segments(segments), zeros(zeros), kept(kept),
        order(numStreams(plan)), spans(plan.storages.size()),
        histories(plan.storages.size()) {}

  void run();

private:
  struct History {
    std::optional<unsigned> writer;         // the last
    llvm::SmallVector<unsigned, 2> readers; // since then
  };

  static unsigned numStreams(const StepPlan &plan);
  void orderCalls();
  void orderCall(PlannedCall &call);
  /// `visit(storage, reads, writes)` for what a call touches.
  void
  forEachAccess(const PlannedCall &call,
                llvm::function_ref<void(unsigned, bool, bool)> visit) const;
  void placeZeros();
  void placeInSequence(exec::Region region);
  void placeTransient();
  void countLive();

  StepPlan &plan;
  const SegmentPlans &segments;
  llvm::ArrayRef<unsigned> zeros, kept;
  StreamOrder order;
  std::vector<std::optional<Span>> spans; // by storage: where it is touched
  std::vector<History> histories;         // by storage
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_STEPLAYOUT_H
