#include "stretto/Runtime/Train.h"

#include "Signals.h"
#include "Trainer.h"

#include "stretto/Runtime/InProcess.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cinttypes>
#include <cstdio>

namespace stretto::runtime {
namespace {

Status runRank(World &world, const TrainJob &job, ExecutorOptions options,
               Outcome &outcome) {
  STRETTO_ASSIGN(std::unique_ptr<Device> device, createCpuDevice());
  options.profile = job.options.profile;
  options.seed = job.seed;
  if (!job.options.trace.empty()) {
    options.traceFrom = job.lastStep - job.options.traceSteps + 1;
    options.traceTo = job.lastStep;
  }
  options.plant = job.plant;
  auto executor = createExecutor(job.program, world, *device, options);
  STRETTO_TRY(executor->prepare());
  STRETTO_TRY(executor->initialize(job.kernels));
  return Trainer(world, *executor, job, outcome).run();
}

Result<CommOptions> commOptions(const TrainOptions &options) {
  STRETTO_ASSIGN(CommOptions comm, CommOptions::fromEnvironment());
  comm.deadline =
      std::chrono::milliseconds(int64_t(options.timeoutSeconds * 1000));
  if (options.delaySeed) {
    comm.delaySeed = *options.delaySeed;
    comm.maxDelayMicroseconds = 2000;
  }
  return comm;
}

/// Bytes as they are, other tokens as numbers.
std::string sampleText(const TrainJob &job, const Outcome &outcome) {
  std::string text;
  for (int32_t token : outcome.sample)
    if (job.isText())
      text += char(token);
    else
      text += (text.empty() ? "" : " ") + std::to_string(token);
  return text;
}

/// Averages over all steps of the run, without evaluation and saving.
struct Speed {
  double tokensPerSecond = 0;
  double mfu = 0;       ///< dense and full attention
  double mfuCausal = 0; ///< only what a causal mask keeps
};

Speed speedOf(const TrainJob &job, const Outcome &outcome) {
  const program::Recipe &recipe = job.recipe();
  double perSecond = double(outcome.stepsRun) / outcome.stepSeconds;
  Speed speed;
  speed.tokensPerSecond =
      double(recipe.global_batch() * recipe.sequence()) * perSecond;
  speed.mfu = recipe.model_flops_per_step() * perSecond / job.peakFlops;
  speed.mfuCausal =
      recipe.model_flops_per_step_causal() * perSecond / job.peakFlops;
  return speed;
}

/// What people want to know at the end, for stderr.
std::string closingLines(const TrainJob &job, const Outcome &outcome) {
  std::string text;
  if (outcome.stepsRun > 0) {
    Speed speed = speedOf(job, outcome);
    text =
        fmt::format("{} steps in {:.1f} s: {:.0f} tokens/s", outcome.stepsRun,
                    outcome.last.seconds, speed.tokensPerSecond);
    if (job.peakFlops > 0)
      text += fmt::format(
          ", MFU {:.1f} % ({:.1f} % causal) of {} x {:.1f} GFLOP/s {}",
          100 * speed.mfu, 100 * speed.mfuCausal, job.peakCores,
          job.peakFlops * 1e-9 / double(job.peakCores),
          job.options.peakGflops > 0 ? "stated" : "measured");
  }
  if (!outcome.checkpoint.empty())
    text += (text.empty() ? "saved " : "\nsaved ") + outcome.checkpoint;
  return text;
}

nlohmann::ordered_json summary(const TrainJob &job, const Outcome &outcome,
                               const Status &status) {
  char hash[17];
  std::snprintf(hash, sizeof(hash), "%016" PRIx64, job.program->hash());
  nlohmann::ordered_json result = {
      {"program", hash},
      {"ranks", job.program->mesh().numRanks()},
      {"step", outcome.last.step},
      {"steps_run", outcome.stepsRun},
      {"steps_skipped", outcome.stepsSkipped},
      {"rolled_back", outcome.rollBacks},
      {"skipped_batches", outcome.skippedBatches},
      {"loss", outcome.last.loss},
      {"grad_norm", outcome.last.gradNorm},
      {"seconds", outcome.last.seconds},
  };
  Speed speed = speedOf(job, outcome);
  if (outcome.stepsRun > 0)
    result["tokens_per_s"] = speed.tokensPerSecond;
  if (outcome.stepsRun > 0 && job.peakFlops > 0) {
    result["mfu"] = speed.mfu;
    result["mfu_causal"] = speed.mfuCausal;
    result["peak_gflops"] = job.peakFlops * 1e-9;
  }
  if (outcome.eval) {
    result["eval_loss"] = outcome.eval->loss;
    result["eval_tokens"] = outcome.eval->tokens;
    if (outcome.eval->isText)
      result["eval_bits_per_byte"] = outcome.eval->bitsPerByte();
  }
  if (!outcome.checkpoint.empty())
    result["checkpoint"] = outcome.checkpoint;
  if (!outcome.sample.empty())
    result["sample"] = sampleText(job, outcome);
  if (!outcome.communication.is_null())
    result["communication"] = outcome.communication;
  result["replica_mismatches"] = outcome.mismatches;
  if (!status)
    result["error"] = status.message();
  return result;
}

/// Results to stdout, what is about them to stderr.
Status print(const TrainJob &job, const Outcome &outcome,
             const Status &status) {
  auto line = [](const std::string &text, FILE *to) {
    if (!text.empty())
      std::fputs((text + "\n").c_str(), to);
  };
  if (!job.options.quiet)
    line(closingLines(job, outcome), stderr);
  line(outcome.profile, stderr);
  if (!job.options.quiet)
    line(outcome.communicationTable, stderr);
  for (const std::string &mismatch : outcome.mismatches)
    line("warning: " + mismatch, stderr);
  line(outcome.memory, stdout);
  line(outcome.bytes, stdout);
  if (job.options.json) {
    line(summary(job, outcome, status)
             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
         stdout);
  } else if (!outcome.sample.empty()) {
    std::string text = sampleText(job, outcome) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return failure(Code::RunFailed, "cannot write to stdout");
  return Status::ok();
}

Status verdict(const Outcome &outcome) {
  if (!outcome.mismatches.empty())
    return failure(Code::RunFailed, outcome.mismatches.size(),
                   " replicated tensors differ between ranks");
  if (!outcome.signal)
    return Status::ok();
  std::string saved = outcome.checkpoint.empty()
                          ? ", nothing saved (no --save)"
                          : ", saved " + outcome.checkpoint;
  return failure(Code::BudgetReached, "stopped by ", outcome.signal,
                 " after step ", outcome.last.step, saved);
}

} // namespace

Status train(const Artifact &artifact, const TrainOptions &options) {
  catchSignals();
  STRETTO_ASSIGN(std::unique_ptr<TrainJob> job, prepareJob(artifact, options));
  STRETTO_ASSIGN(CommOptions comm, commOptions(options));
  STRETTO_ASSIGN(ExecutorOptions execution, ExecutorOptions::fromEnvironment());
  Outcome outcome;
  Status status = runInProcess(
      job->program->mesh().numRanks(), comm, [&](World &world) -> Status {
        Outcome ignored;
        return runRank(world, *job, execution,
                       world.rank() == 0 ? outcome : ignored);
      });
  if (status)
    status = verdict(outcome);
  Status printed = print(*job, outcome, status);
  return status ? printed : status;
}

} // namespace stretto::runtime
