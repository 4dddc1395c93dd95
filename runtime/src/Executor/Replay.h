//===- Replay.h - a step again, looking at everything -----------*- C++ -*-===//
//
// After a step that was not finite: runs the same function on the same inputs
// and looks for values that are not finite in what every command reads and
// writes. The step loop pays nothing for it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_REPLAY_H
#define STRETTO_RUNTIME_EXECUTOR_REPLAY_H

#include "Expand.h"
#include "Tensors.h"

#include <functional>

namespace stretto::runtime {

struct ReplayContext {
  const Program &program;
  const program::Function &function;
  World &world;
  const Expansion &expansion; ///< of the function, scalars set to the step
  const RegionStarts &regions;
  /// Does what is no collective.
  std::function<Status(const Instruction &)> issue;
};

/// A collective operation; the answer is the same on every rank.
Result<NonFiniteOrigin> replay(const ReplayContext &context);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_REPLAY_H
