#include "Trainer.h"

#include "Report.h"
#include "Sampler.h"
#include "Signals.h"
#include "State.h"

#include "stretto/Runtime/Agreement.h"
#include "stretto/Runtime/FileWriter.h"

#include <cmath>

namespace stretto::runtime {

Trainer::Trainer(World &world, Executor &executor, const TrainJob &job,
                 Outcome &outcome)
    : world(world), executor(executor), job(job), outcome(outcome),
      progress(job.options.quiet || world.rank() != 0, job.lastStep),
      now(job.start), savedStep(job.start.step), saved(job.checkpoint) {}

Status Trainer::run() {
  STRETTO_TRY(agree(world, loadState()));
  if (leads() && job.options.printMemory)
    outcome.memory = memoryJson(executor);
  if (!job.options.sampleOnly) {
    STRETTO_TRY(agree(world, bind()));
    STRETTO_TRY(loop());
  }
  return finish();
}

Status Trainer::loadState() {
  if (leads())
    outcome.skippedBatches = now.skippedBatches;
  if (leads() && job.options.sampleOnly && job.checkpoint.empty() &&
      job.options.loadParameters.empty())
    progress.note("warning: the parameters are untrained; pass --resume or "
                  "--load-params");
  if (leads() && job.data && !job.checkpoint.empty())
    warnOfOtherData();
  if (leads() && !job.options.sampleOnly && job.onNonFinite("rollback") &&
      (job.options.save.empty() || job.options.saveEvery == 0))
    progress.note("warning: `nonfinite: rollback` without --save and "
                  "--save-every: there is nothing to go back to but the "
                  "beginning of the run");
  return restore(job.checkpoint);
}

Status Trainer::restore(const std::string &checkpoint) {
  STRETTO_TRY(initializeState(executor));
  if (!job.options.loadParameters.empty())
    STRETTO_TRY(loadParameters(executor, job.options.loadParameters));
  if (checkpoint.empty())
    return Status::ok();
  return loadCheckpoint(checkpoint, checkpointPieces(executor)).status();
}

/// To go on with other data is a way to use a checkpoint, but not by mistake.
void Trainer::warnOfOtherData() {
  const CheckpointFacts &start = job.start;
  if (start.dataTokens != 0 && start.dataTokens != job.data->tokens())
    progress.note(concat("warning: the data set has ", job.data->tokens(),
                         " tokens, the checkpoint was trained on one with ",
                         start.dataTokens));
  else if (start.dataHash != 0 && start.dataHash != job.dataHash)
    progress.note("warning: the data set is not the one that the checkpoint "
                  "was trained on, though it has as many tokens");
}

static Result<TensorView> scalarOutput(const Executor &executor,
                                       size_t function,
                                       const std::string &name) {
  STRETTO_ASSIGN(TensorView view, executor.output(function, name));
  if (view.dtype != program::DType::F32 || view.box.localElements() != 1)
    return failure(Code::Rejected, "output '", name, "' is not one f32");
  return view;
}

Status Trainer::bind() {
  STRETTO_ASSIGN(trainFunction, executor.function("train"));
  STRETTO_ASSIGN(trainFeed, Feed::of(executor.inputs(trainFunction)));
  STRETTO_ASSIGN(loss, scalarOutput(executor, trainFunction, "loss"));
  STRETTO_ASSIGN(gradNorm, scalarOutput(executor, trainFunction, "grad_norm"));
  batch = trainFeed.batch();
  if (batch != job.recipe().global_batch() ||
      trainFeed.sequence() != job.recipe().sequence())
    return failure(Code::Rejected, "the inputs of 'train' hold ", batch, " x ",
                   trainFeed.sequence(), " tokens, the recipe says ",
                   job.recipe().global_batch(), " x ", job.recipe().sequence());
  if (job.data && job.splits.heldOut.count > 0 &&
      job.program->findFunction("eval")) {
    STRETTO_ASSIGN(evalFunction, executor.function("eval"));
    STRETTO_ASSIGN(evalFeed, Feed::of(executor.inputs(*evalFunction)));
    STRETTO_ASSIGN(evalLoss, scalarOutput(executor, *evalFunction, "loss"));
    STRETTO_ASSIGN(evalCount, scalarOutput(executor, *evalFunction, "count"));
  }
  if (leads() && !job.options.metrics.empty())
    STRETTO_TRY(metrics.open(job.options.metrics, !job.checkpoint.empty()));
  return Status::ok();
}

Status Trainer::loop() {
  if (leads() && job.start.step >= job.lastStep)
    progress.note(concat("note: the ",
                         job.checkpoint.empty() ? "run" : "checkpoint",
                         " is at step ", job.start.step, " of ", job.lastStep,
                         ": nothing to train"));
  executor.resetCounters();
  begin = Clock::now();
  movePlant();
  while (now.step < job.lastStep && !stopping) {
    bool rolledBack = false;
    STRETTO_TRY(runStep(now.step + 1, rolledBack));
    if (!rolledBack)
      STRETTO_TRY(afterStep(now.step, stopping || now.step == job.lastStep));
    else if (stopping && !job.options.save.empty())
      STRETTO_TRY(save()); // where the data go on
  }
  return Status::ok();
}

Status Trainer::feedTrain(int64_t step) {
  auto hyper = hyperParameters(job.schedule, job.recipe().beta1(),
                               job.recipe().beta2(), step);
  return trainFeed.fill(*job.samples, now.cursor, hyper);
}

Status Trainer::runStep(int64_t step, bool &rolledBack) {
  auto start = Clock::now();
  STRETTO_TRY(feedTrain(step));
  STRETTO_TRY(executor.execute(trainFunction, step));
  enum : uint64_t { NonFinite = 1, Stop = 2 };
  bool finite = std::isfinite(*loss.data<float>()) &&
                std::isfinite(*gradNorm.data<float>());
  uint64_t mine = (finite ? 0 : NonFinite) | (caughtSignal() ? Stop : 0);
  STRETTO_ASSIGN(uint64_t bits, unionOfBits(world, mine, words));
  stopping = bits & Stop;
  std::chrono::duration<double> seconds = Clock::now() - start;
  ++outcome.stepsRun;
  if (leads()) {
    outcome.last = measure(step, seconds.count());
    outcome.stepSeconds += seconds.count();
    progress.report(outcome.last);
    if (stopping)
      outcome.signal = caughtSignal() ? caughtSignal() : "a signal";
  }
  Status written = leads() ? metrics.write(outcome.last) : Status::ok();
  STRETTO_TRY(written);
  rolledBack = (bits & NonFinite) && job.onNonFinite("rollback");
  if (rolledBack)
    return rollBack(step);
  STRETTO_TRY(handleNonFinite(step, bits & NonFinite));
  now.step = step;
  now.cursor += uint64_t(batch);
  return Status::ok();
}

StepMetrics Trainer::measure(int64_t step, double seconds) const {
  StepMetrics result;
  result.step = step;
  result.loss = *loss.data<float>();
  result.gradNorm = *gradNorm.data<float>();
  result.lr = learningRate(job.schedule, step);
  result.tokensPerSecond = double(batch * trainFeed.sequence()) / seconds;
  if (job.peakFlops > 0)
    result.mfu =
        job.recipe().model_flops_per_step() / (seconds * job.peakFlops);
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

Status Trainer::afterStep(int64_t step, bool last) {
  const TrainOptions &options = job.options;
  if (!options.dumpState.empty() && (last || options.dumpEveryStep))
    STRETTO_TRY(dump(step));
  int64_t evalEvery = options.evalEvery.value_or(job.recipe().eval_every());
  if (!stopping && (last || (evalEvery > 0 && step % evalEvery == 0)))
    STRETTO_TRY(evaluate(step));
  if (!options.save.empty() &&
      (last || (options.saveEvery > 0 && step % options.saveEvery == 0)))
    STRETTO_TRY(save());
  return Status::ok();
}

Status Trainer::evaluate(int64_t step) {
  if (!evalFunction)
    return Status::ok();
  auto source = orderedWindows(job.splits.heldOut);
  uint64_t size = evalFeed.batch();
  uint64_t batches = (job.splits.heldOut.count + size - 1) / size;
  if (job.options.evalBatches > 0)
    batches = std::min<uint64_t>(batches, job.options.evalBatches);
  EvalMetrics result;
  result.step = step;
  result.isText = job.data->isText();
  double sum = 0;
  for (uint64_t i = 0; i < batches; ++i) {
    STRETTO_TRY(evalFeed.fill(*source, i * size, {}));
    STRETTO_TRY(executor.execute(*evalFunction, step));
    double count = *evalCount.data<float>();
    sum += count > 0 ? count * *evalLoss.data<float>() : 0;
    result.tokens += count;
  }
  result.loss = result.tokens > 0 ? sum / result.tokens : 0;
  if (!leads())
    return Status::ok();
  outcome.eval = result;
  progress.report(result);
  return metrics.write(result);
}

Status Trainer::save() {
  CheckpointFacts facts = now;
  const auto *model = job.program->table().model();
  facts.model = model ? model->str() : "";
  facts.programHash = job.program->hash();
  facts.seed = job.seed;
  facts.dataTokens = job.data ? job.data->tokens() : 0;
  facts.dataHash = job.dataHash;
  STRETTO_ASSIGN(saved, saveCheckpoint(world, job.options.save, facts,
                                       checkpointPieces(executor)));
  savedStep = now.step;
  if (leads())
    outcome.checkpoint = saved;
  return Status::ok();
}

Status Trainer::dump(int64_t step) {
  const std::string &folder = job.options.dumpState;
  STRETTO_TRY(agree(world, leads() ? makeFolders(folder) : Status::ok()));
  NamedTensors tensors = gradientsOf(executor);
  for (const NamedTensors &more : {parametersOf(executor), momentsOf(executor)})
    tensors.insert(tensors.end(), more.begin(), more.end());
  auto digits = [](float value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", value);
    return std::string(text);
  };
  std::map<std::string, std::string> metadata = {
      {"step", std::to_string(step)},
      {"loss", digits(*loss.data<float>())},
      {"grad_norm", digits(*gradNorm.data<float>())}};
  std::vector<std::string> mismatches;
  STRETTO_TRY(writeWhole(world, job.program->mesh(),
                         folder + "/" + checkpointName(step) + ".safetensors",
                         tensors, metadata, mismatches));
  for (const std::string &line : mismatches)
    outcome.mismatches.push_back(concat("step ", step, ": ", line));
  return Status::ok();
}

Status Trainer::writeTrace() {
  STRETTO_ASSIGN(std::vector<std::string> events,
                 gatherTexts(world, traceEvents(world.rank(), executor.trace(),
                                                job.traceZero)));
  return agree(
      world, leads() ? writeFileAtomically(job.options.trace, traceFile(events))
                     : Status::ok());
}

Status Trainer::finish() {
  const TrainOptions &options = job.options;
  if (leads() && options.profile)
    outcome.profile =
        profileTable(executor, outcome.stepsRun, outcome.stepSeconds);
  if (options.printBytes) {
    STRETTO_ASSIGN(std::string bytes,
                   bytesJson(world, executor, outcome.stepsRun));
    if (leads())
      outcome.bytes = bytes;
  }
  if (!options.trace.empty()) {
    STRETTO_TRY(writeTrace());
    outcome.communication = communicationJson(executor);
    outcome.communicationTable = communicationTable(executor);
  }
  if (!options.exportFile.empty()) {
    NamedTensors parameters = parametersOf(executor);
    for (NamedTensor &tensor : parameters)
      tensor.name = tensor.view.name;
    std::vector<std::string> mismatches;
    STRETTO_TRY(writeWhole(world, job.program->mesh(), options.exportFile,
                           parameters, {{"format", "pt"}}, mismatches));
  }
  if (options.sampleTokens <= 0 || stopping)
    return Status::ok();
  STRETTO_ASSIGN(std::vector<int32_t> sample,
                 generate(world, executor, options.prompt, options.sampleTokens,
                          options.temperature));
  if (leads())
    outcome.sample = sample;
  return Status::ok();
}

} // namespace stretto::runtime
