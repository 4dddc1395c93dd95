//===- Trainer.h - the step loop of one rank --------------------*- C++ -*-===//
//
// Every rank runs the same loop on its own executor; whatever a rank sees alone
// (a signal, a value that is not finite, a full disk) is agreed on before
// anybody acts on it. Rank 0 also talks to the user.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_TRAINER_H
#define STRETTO_RUNTIME_SRC_TRAIN_TRAINER_H

#include "TrainJob.h"

#include "stretto/Runtime/Executor.h"
#include "stretto/Runtime/Feed.h"

#include <chrono>

namespace stretto::runtime {

class Trainer {
public:
  Trainer(World &world, Executor &executor, const TrainJob &job,
          Outcome &outcome);

  /// State, steps, then what is asked for at the end.
  Status run();

private:
  using Clock = std::chrono::steady_clock;

  Status loadState();
  void warnOfOtherData();
  Status bind();
  Status loop();
  Status runStep(int64_t step);
  /// Ends or counts a step whose loss or gradient norm is not finite.
  Status handleNonFinite(int64_t step, bool nonFinite);
  /// Collective: what made it so, and on which rank; the same on all ranks.
  Result<NonFiniteOrigin> explainNonFinite(int64_t step);
  Status feedTrain(int64_t step);
  StepMetrics measure(int64_t step, double seconds) const;
  Status afterStep(int64_t step, bool last);
  Status evaluate(int64_t step);
  Status save(int64_t step);
  Status dump(int64_t step);
  Status writeTrace();
  Status finish();

  bool leads() const { return world.rank() == 0; }
  uint64_t cursorAfter(int64_t step) const {
    return job.start.cursor + uint64_t(step - job.start.step) * batch;
  }

  World &world;
  Executor &executor;
  const TrainJob &job;
  Outcome &outcome;
  Progress progress;
  MetricsFile metrics;

  size_t trainFunction = 0;
  std::optional<size_t> evalFunction;
  Feed trainFeed, evalFeed;
  TensorView loss, gradNorm, evalLoss, evalCount;
  std::vector<uint64_t> words; ///< scratch of the ranks' agreement
  int64_t batch = 0;
  int64_t skippedInARow = 0;
  bool stopping = false;
  Clock::time_point begin;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_TRAINER_H
