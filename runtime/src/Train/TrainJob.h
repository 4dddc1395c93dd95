//===- TrainJob.h - what all ranks of a run share ---------------*- C++ -*-===//
//
// Decided before the ranks start, from the artifact, the options, the data and
// the checkpoint; and what they leave behind for the end.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_TRAINJOB_H
#define STRETTO_RUNTIME_SRC_TRAIN_TRAINJOB_H

#include "Metrics.h"

#include "stretto/Runtime/Checkpoint.h"
#include "stretto/Runtime/Executor.h"
#include "stretto/Runtime/FolderLock.h"
#include "stretto/Runtime/Program.h"
#include "stretto/Runtime/SampleSource.h"
#include "stretto/Runtime/Schedule.h"
#include "stretto/Runtime/Train.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace stretto::runtime {

struct TrainJob {
  TrainOptions options;
  std::shared_ptr<const Program> program;
  Bytes kernels;

  std::unique_ptr<DataSet> data; ///< null without --data
  uint64_t dataHash = 0;         ///< its fingerprint, 0 without
  Splits splits;                 ///< of the data set
  /// Sample i since the start of training; null when only sampling.
  std::unique_ptr<SampleSource> samples;

  std::string checkpoint; ///< to resume from, or empty
  CheckpointFacts start;  ///< of the checkpoint; of step 0 otherwise
  uint64_t seed = 0;
  int64_t lastStep = 0;
  Schedule schedule;
  std::optional<PlantedNan> plant;
  double peakFlops = 0; ///< of all usable cores together; 0 when not known
  int64_t peakCores = 0;
  double traceZero = 0; ///< where the time of a trace begins

  /// Held until the end of the run.
  FolderLock saveLock, dumpLock;

  /// What a token is less than: what the model looks up, and the data promises.
  uint64_t tokenBound() const;
  /// Whether tokens are bytes of text.
  bool isText() const;
  const program::Recipe &recipe() const { return *program->table().recipe(); }
  /// Whether the recipe's answer to values that are not finite is this one:
  /// "stop", "skip" or "rollback".
  bool onNonFinite(const char *policy) const;
};

/// Checks everything that can be checked before ranks exist.
Result<std::unique_ptr<TrainJob>> prepareJob(const Artifact &artifact,
                                             const TrainOptions &options);

/// Written by rank 0.
struct Outcome {
  StepMetrics last;
  std::optional<EvalMetrics> eval;
  int64_t stepsRun = 0, stepsSkipped = 0;
  int64_t rollBacks = 0;      ///< in this run
  int64_t skippedBatches = 0; ///< passed by in roll backs, since step 0
  double stepSeconds = 0;     ///< in steps, without evaluation and saving
  std::string checkpoint;     ///< the last one saved
  const char *signal = nullptr;
  std::vector<std::string> mismatches; ///< replicas that differ
  std::vector<int32_t> sample;
  std::string memory, bytes, profile; ///< reports that were asked for
  std::string communicationTable;     ///< of a traced run
  nlohmann::ordered_json communication;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_TRAINJOB_H
