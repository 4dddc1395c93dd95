#include "Trainer.h"

#include "State.h"

#include "stretto/Runtime/Agreement.h"

#include <algorithm>

namespace stretto::runtime {

std::string Trainer::resultText() const {
  return concat("loss ", *loss.data<float>(), ", gradient norm ",
                *gradNorm.data<float>());
}

Status Trainer::giveUp(int64_t step, const std::string &values,
                       const NonFiniteOrigin &origin) {
  bool mine = world.rank() == origin.rank;
  return agree(world, !mine ? Status::ok()
                            : failure(Code::RunFailed, "step ", step, ": ",
                                      values, "; ", origin.description));
}

Status Trainer::handleNonFinite(int64_t step, bool nonFinite) {
  constexpr int64_t mostSkips = 10;
  skippedInARow = nonFinite ? skippedInARow + 1 : 0;
  if (!nonFinite)
    return Status::ok();
  if (leads())
    ++outcome.stepsSkipped;
  STRETTO_ASSIGN(NonFiniteOrigin origin, explainNonFinite(step));
  std::string values = resultText();
  bool skips = job.onNonFinite("skip");
  if (skips && skippedInARow < mostSkips) {
    if (leads())
      progress.note(concat("warning: step ", step, " skipped: ", values,
                           "; rank ", origin.rank, ": ", origin.description));
    return Status::ok();
  }
  if (skips)
    values += concat(", ", skippedInARow, " skipped steps in a row");
  return giveUp(step, values, origin);
}

/// A parameter that was bad before the step (which did not update it) is no
/// fault of the step; anything else shows when the step is done again.
Result<NonFiniteOrigin> Trainer::explainNonFinite(int64_t step) {
  NonFiniteOrigin origin;
  STRETTO_ASSIGN(std::vector<std::string> bad,
                 gatherTexts(world, findNonFinite(parametersOf(executor))));
  for (int64_t rank = world.size(); rank-- > 0;)
    if (!bad[rank].empty())
      origin = {rank, bad[rank] + " before the step"};
  if (origin.rank >= 0)
    return origin;
  STRETTO_TRY(feedTrain(step));
  STRETTO_ASSIGN(origin, executor.findNonFinite(trainFunction, step));
  if (origin.rank < 0)
    origin = {0, "no operation made it from finite values"};
  return origin;
}

void Trainer::movePlant() {
  if (job.plant)
    executor.plantAt(job.plant->step - now.skippedBatches);
}

Status Trainer::restoreSaved() {
  Status status = restore(saved);
  if (!status)
    status = failure(Code::RunFailed, "cannot roll back to step ", savedStep,
                     ": ", status.message());
  return agree(world, status);
}

/// Without the samples in between: to repeat them would fail the same way.
Status Trainer::rollBack(int64_t step) {
  constexpr int64_t mostRollBacks = 3; // docs/running.md names it
  STRETTO_ASSIGN(NonFiniteOrigin origin, explainNonFinite(step));
  std::string values = resultText();
  now.rollBacks = step > now.failedStep ? 1 : now.rollBacks + 1;
  now.failedStep = std::max(now.failedStep, step);
  if (now.rollBacks > mostRollBacks)
    return giveUp(step,
                  concat(values, ", and ", mostRollBacks,
                         " roll backs did not get past step ", now.failedStep),
                  origin);
  STRETTO_TRY(restoreSaved());
  int64_t skipped = step - savedStep;
  now.skippedBatches += skipped;
  now.step = savedStep;
  now.cursor += uint64_t(batch);
  movePlant();
  if (!leads())
    return Status::ok();
  ++outcome.rollBacks;
  outcome.skippedBatches = now.skippedBatches;
  progress.note(concat("warning: step ", step, " rolled back to step ",
                       now.step, ", skipping ", skipped,
                       skipped == 1 ? " batch: " : " batches: ", values,
                       "; rank ", origin.rank, ": ", origin.description));
  std::chrono::duration<double> seconds = Clock::now() - begin;
  return metrics.write(
      RollBackMetrics{step, now.step, now.skippedBatches, seconds.count()});
}

} // namespace stretto::runtime
