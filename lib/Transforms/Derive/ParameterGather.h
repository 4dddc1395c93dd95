//===- ParameterGather.h - working copies of parameters ---------*- C++ -*-===//
//
// A parameter rests where the optimizer's state does, in the optimizer's type;
// the layers work on a copy of it, in the type that they compute in. A segment
// per owner makes the copies at the start of a step, as the layers use them or,
// for parameters that rest sharded between passes, as they rest: those are
// gathered where a pass uses them, or by one more segment before the first
// forward of a micro-batch that reads them.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_DERIVE_PARAMETERGATHER_H
#define STRETTO_LIB_TRANSFORMS_DERIVE_PARAMETERGATHER_H

#include "StepBuilder.h"

namespace stretto {

class ParameterGather {
public:
  explicit ParameterGather(StepBuilder &step)
      : step(step), resting(step.parameters), kept(step.parameters),
        isGathered(step.context.owners.size()) {}

  /// The copies that last for the whole step.
  void gatherForStep();
  /// What a pass of `call` needs of these arguments of its layer: for this pass
  /// alone, or for the rest of the micro-batch.
  void gatherForPass(CallOp call, llvm::ArrayRef<unsigned> arguments);
  /// What was gathered for the pass is gone.
  void endPass() { step.parameters = kept; }
  /// At the end of a micro-batch: the layers see what was there before it.
  void endMicrobatch();

private:
  const ParameterOwner &ownerOf(unsigned position) const;
  void gatherForMicrobatch(const ParameterOwner &owner);
  /// `when`: what the plan may choose, empty where nothing is chosen.
  void gather(const ParameterOwner &owner,
              llvm::ArrayRef<GatheredMember> members, llvm::StringRef when,
              bool isCopyForStep = false);
  SegmentOp segmentFor(const ParameterOwner &owner,
                       llvm::ArrayRef<GatheredMember> members,
                       bool isCopyForStep);

  StepBuilder &step;
  llvm::SmallVector<TensorRef> resting; // as the micro-batch found them
  llvm::SmallVector<TensorRef> kept;    // as the pass found them
  llvm::BitVector isGathered;           // owners, in this micro-batch
};

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_DERIVE_PARAMETERGATHER_H
