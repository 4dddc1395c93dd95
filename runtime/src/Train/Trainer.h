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
  /// Parameters and moments of a checkpoint, initial ones when empty.
  Status restore(const std::string &checkpoint);
  void warnOfOtherData();
  Status bind();
  Status loop();
  /// One more step; `rolledBack` when it failed and fewer are done after it.
  Status runStep(int64_t step, bool &rolledBack);
  /// Stop and skip: ends or counts a step whose loss or gradient norm is not
  /// finite.
  Status handleNonFinite(int64_t step, bool nonFinite);
  /// Collective: what made it so, and on which rank; the same on all ranks.
  Result<NonFiniteOrigin> explainNonFinite(int64_t step);
  /// Collective: back to the state that was last saved, on to the samples after
  /// those of the step, which failed.
  Status rollBack(int64_t step);
  /// Collective: loads what rollBack goes back to.
  Status restoreSaved();
  /// A planted NaN belongs to a batch: passed by, it does not come again.
  void movePlant();
  std::string resultText() const;
  /// Collective: ends the run; the rank where it began is the one that speaks.
  Status giveUp(int64_t step, const std::string &values,
                const NonFiniteOrigin &origin);
  Status feedTrain(int64_t step);
  StepMetrics measure(int64_t step, double seconds) const;
  Status afterStep(int64_t step, bool last);
  Status evaluate(int64_t step);
  Status save();
  Status dump(int64_t step);
  Status writeTrace();
  Status finish();

  bool leads() const { return world.rank() == 0; }

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
  CheckpointFacts now; ///< how far the run is: step, cursor, roll backs
  int64_t savedStep;   ///< steps done in what was last saved or resumed from
  std::string saved;   ///< where that is; empty: the initial state
  int64_t skippedInARow = 0;
  bool stopping = false;
  Clock::time_point begin;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_TRAINER_H
