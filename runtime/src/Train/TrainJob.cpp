#include "TrainJob.h"

#include "Peak.h"
#include "Sampler.h"

#include "stretto/Runtime/FileWriter.h"
#include "stretto/Runtime/Isa.h"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace stretto::runtime {

bool TrainJob::onNonFinite(const char *policy) const {
  const auto *wanted = recipe().nonfinite();
  return (wanted ? wanted->str() : "stop") == policy;
}

uint64_t TrainJob::tokenBound() const {
  uint64_t model = recipe().vocabulary(); // 0: it looks up no tokens
  return model > 0 ? model : uint64_t(INT32_MAX) + 1;
}

bool TrainJob::isText() const {
  if (recipe().vocabulary() == 0)
    return !data || data->isText();
  return recipe().vocabulary() <= 256;
}

namespace {

std::string meshText(const program::Program &table) {
  std::string text;
  for (const program::Axis *axis : *table.mesh())
    text += concat(text.empty() ? "" : " x ",
                   axis->name() ? axis->name()->str() : "?", " ", axis->size());
  return text;
}

Status checkRanks(const TrainJob &job) {
  int64_t ranks = job.program->mesh().numRanks();
  if (job.options.ranks && *job.options.ranks != ranks)
    return failure(Code::Usage, "--ranks ", *job.options.ranks,
                   " does not fit the plan's mesh ",
                   meshText(job.program->table()), ", which is ", ranks,
                   " ranks; pass --ranks ", ranks, " or compile another plan");
  return Status::ok();
}

Status openProgram(TrainJob &job, const Artifact &artifact) {
  STRETTO_ASSIGN(job.program, Program::load(artifact.program));
  job.kernels = artifact.kernels;
  const program::Program &table = job.program->table();
  if (!table.recipe())
    return failure(Code::Rejected, "the Program carries no recipe");
  if (table.cpu_features())
    STRETTO_TRY(checkCpuFeatures(table.cpu_features()->str()));
  return checkRanks(job);
}

Status openCheckpoint(TrainJob &job) {
  job.seed = job.recipe().seed();
  if (!job.options.resume.empty()) {
    STRETTO_ASSIGN(job.checkpoint, findCheckpoint(job.options.resume));
    STRETTO_ASSIGN(job.start, readCheckpointFacts(job.checkpoint));
    job.seed = job.start.seed;
  }
  job.seed = job.options.seed.value_or(job.seed);
  return Status::ok();
}

/// The data set and its splits, when there are files.
Status openData(TrainJob &job) {
  if (job.options.data.empty())
    return Status::ok();
  STRETTO_ASSIGN(job.data, openDataSet(job.options.data));
  if (!job.options.save.empty() || !job.options.resume.empty())
    job.dataHash = job.data->fingerprint();
  if (!job.data->isText() && job.data->vocabulary() > job.tokenBound())
    return failure(Code::Rejected, job.options.data[0], ": the vocabulary of ",
                   job.data->vocabulary(),
                   " tokens is larger than the model's ", job.tokenBound());
  STRETTO_ASSIGN(job.splits,
                 Splits::of(*job.data, job.recipe().sequence(),
                            job.recipe().eval_fraction(), job.tokenBound()));
  return Status::ok();
}

Status chooseSamples(TrainJob &job) {
  if (job.options.sampleOnly)
    return Status::ok();
  if (!job.options.batches.empty()) {
    STRETTO_ASSIGN(job.samples,
                   openBatches(job.options.batches, job.recipe().global_batch(),
                               job.recipe().sequence(), job.tokenBound()));
    return Status::ok();
  }
  if (!job.data)
    return failure(Code::Usage, "no data; pass --data FILE...");
  job.samples = shuffledWindows(job.splits.train, job.seed);
  return Status::ok();
}

Status checkRecipe(const program::Recipe &recipe) {
  struct {
    const char *name;
    int64_t value;
  } const needed[] = {{"global batch", recipe.global_batch()},
                      {"sequence", recipe.sequence()}};
  for (const auto &[name, value] : needed)
    if (value <= 0)
      return failure(Code::Rejected, "the Program's recipe has ", name, " = ",
                     value);
  if (recipe.vocabulary() < 0)
    return failure(Code::Rejected, "the Program's recipe has vocabulary = ",
                   recipe.vocabulary());
  return Status::ok();
}

/// What would be found out only at the end, after hours.
Status checkResults(TrainJob &job) {
  const TrainOptions &options = job.options;
  if (options.sampleTokens > 0)
    STRETTO_TRY(checkSampling(*job.program, options.prompt));
  if (!options.exportFile.empty())
    STRETTO_TRY(checkFileWritable(options.exportFile));
  if (!options.trace.empty())
    STRETTO_TRY(checkFileWritable(options.trace));
  if (!options.save.empty()) {
    STRETTO_ASSIGN(job.saveLock, FolderLock::acquire(options.save));
    STRETTO_TRY(recoverCheckpoints(options.save));
  }
  std::error_code error;
  if (!options.dumpState.empty() &&
      !std::filesystem::equivalent(options.save, options.dumpState, error)) {
    STRETTO_ASSIGN(job.dumpLock, FolderLock::acquire(options.dumpState));
  }
  return Status::ok();
}

Schedule scheduleOf(const program::Recipe &recipe) {
  Schedule schedule;
  schedule.lr = recipe.lr();
  schedule.minLr = recipe.min_lr();
  schedule.warmup = recipe.warmup();
  schedule.decaySteps =
      recipe.decay_steps() > 0 ? recipe.decay_steps() : recipe.steps();
  if (recipe.decay())
    schedule.decay = recipe.decay()->str();
  return schedule;
}

/// "3:1:layers.1:accumulator.mlp.w1".
Result<PlantedNan> parsePlant(const std::string &text, int64_t ranks) {
  PlantedNan plant;
  char instance[256], tensor[256], rest;
  long long step = 0, rank = 0;
  if (std::sscanf(text.c_str(), "%18lld:%18lld:%255[^:]:%255[^:]%c", &step,
                  &rank, instance, tensor, &rest) != 4 ||
      step < 1 || rank < 0 || rank >= ranks)
    return failure(Code::Usage, "--inject-nan '", text,
                   "' is not STEP:RANK:INSTANCE:TENSOR with a rank below ",
                   ranks, " and a step from 1 on");
  return PlantedNan{rank, step, instance, tensor};
}

/// The peak of as many cores as the ranks can use.
Status findPeak(TrainJob &job) {
  double perThread = job.options.peakGflops * 1e9;
  if (perThread == 0 && !job.options.sampleOnly) {
    STRETTO_ASSIGN(perThread, measurePeakFlops());
  }
  int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  job.peakCores = std::min(cores, job.program->mesh().numRanks());
  job.peakFlops = perThread * double(job.peakCores);
  return Status::ok();
}

} // namespace

Result<std::unique_ptr<TrainJob>> prepareJob(const Artifact &artifact,
                                             const TrainOptions &options) {
  auto job = std::make_unique<TrainJob>();
  job->options = options;
  STRETTO_TRY(openProgram(*job, artifact));
  STRETTO_TRY(checkRecipe(job->recipe()));
  STRETTO_TRY(checkResults(*job));
  STRETTO_TRY(openCheckpoint(*job));
  STRETTO_TRY(openData(*job));
  STRETTO_TRY(chooseSamples(*job));
  job->schedule = scheduleOf(job->recipe());
  if (!options.plantNan.empty()) {
    STRETTO_ASSIGN(job->plant, parsePlant(options.plantNan,
                                          job->program->mesh().numRanks()));
  }
  job->lastStep = options.steps.value_or(job->recipe().steps());
  STRETTO_TRY(findPeak(*job));
  job->traceZero = traceClock();
  return job;
}

} // namespace stretto::runtime
