//===- Train.h - the training run -------------------------------*- C++ -*-===//
//
// Everything between a loaded artifact and an exit code: data, ranks,
// initialisation or resumption, the step loop, evaluation, checkpoints,
// sampling and what is reported about them. stdout gets results, stderr
// progress.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_TRAIN_H
#define STRETTO_RUNTIME_TRAIN_H

#include "stretto/Runtime/Artifact.h"
#include "stretto/Runtime/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stretto::runtime {

/// What the user may ask for; empty or absent means the recipe's value or none.
struct TrainOptions {
  // Data.
  std::vector<std::string> data; ///< text files, or one token file
  std::string batches;           ///< safetensors with explicit batches

  // The run.
  std::optional<int64_t> ranks; ///< must be the mesh's
  std::optional<int64_t> steps; ///< total, also when resuming
  std::optional<uint64_t> seed; ///< instead of the recipe's or checkpoint's
  std::optional<int64_t> evalEvery;
  int64_t evalBatches = 0;           ///< at most so many; 0 means all
  double timeoutSeconds = 600;       ///< longest wait for another rank
  std::optional<uint64_t> delaySeed; ///< sleep a random time before collectives
  std::string plantNan; ///< STEP:RANK:INSTANCE:TENSOR (see PlantedNan)

  // Parameters and checkpoints.
  std::string loadParameters; ///< safetensors with initial parameters
  std::string resume;         ///< a checkpoint, or a folder of them
  std::string save;           ///< folder of checkpoints
  int64_t saveEvery = 0;      ///< steps; 0 means at the end only
  std::string exportFile;     ///< parameters as one safetensors file
  std::string dumpState;      ///< folder for gradients, parameters, moments
  bool dumpEveryStep = false;

  // Reports.
  std::string metrics; ///< JSON lines
  bool quiet = false, json = false, profile = false;
  std::string trace;      ///< what ran when in the last steps, for Perfetto
  int64_t traceSteps = 2; ///< how many
  bool printMemory = false, printBytes = false;
  double peakGflops = 0; ///< of one thread; 0 means measure

  // Sampling.
  int64_t sampleTokens = 0;
  std::string prompt = "\n";
  double temperature = 0.8; ///< 0 means the most likely token
  bool sampleOnly = false;
};

/// Runs to the end, to a signal to stop (Code::BudgetReached, after saving),
/// or to an error.
Status train(const Artifact &artifact, const TrainOptions &options);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_TRAIN_H
