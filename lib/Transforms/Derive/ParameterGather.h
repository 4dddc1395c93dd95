//===- ParameterGather.h - parameters made whole for a while ----*- C++ -*-===//
//
// Parameters that rest sharded are gathered where a pass uses them, unless the
// plan wants them gathered once per step or once per micro-batch: then a
// segment per owner makes them as they are used, and the layers read its
// results.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_PARAMETERGATHER_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_PARAMETERGATHER_H

#include "StepBuilder.h"

namespace stretto {

class ParameterGather {
public:
  explicit ParameterGather(StepBuilder &step)
      : step(step), resting(step.parameters),
        isGathered(step.context.owners.size()) {}

  /// All that the plan wants gathered once per step.
  void gatherForStep();
  /// What the call uses and the plan wants gathered once per micro-batch.
  void gatherForCall(CallOp call);
  /// At the end of a micro-batch: the layers see what was there before it.
  void endMicrobatch();

private:
  using Members = llvm::SmallVector<unsigned>;
  void gather(const ParameterOwner &owner, llvm::StringRef when);
  SegmentOp segmentFor(const ParameterOwner &owner, const Members &members);

  StepBuilder &step;
  llvm::SmallVector<TensorRef> resting; // as the micro-batch found them
  llvm::BitVector isGathered;           // owners, in this micro-batch
  std::map<std::pair<mlir::Operation *, Members>, SegmentOp> segments;
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_PARAMETERGATHER_H
