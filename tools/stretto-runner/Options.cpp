#include "Options.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <string>

namespace stretto::runner {

using runtime::TrainOptions;

static void addData(CLI::App &app, TrainOptions &options) {
  auto *data = app.add_option("--data", options.data,
                              "text files (a token is a byte), or one token "
                              "file X.bin with its index X.json");
  data->type_name("FILE...")->group("Data");
  app.add_option("--tokens", options.batches,
                 "safetensors with tokens, labels and mask "
                 "[steps, batch, seq] to train on, in order")
      ->type_name("FILE")
      ->group("Data");
}

/// What a clock can hold; NaN is in no range.
static std::string checkSeconds(const std::string &text) {
  double seconds = std::strtod(text.c_str(), nullptr);
  if (seconds >= 0.001 && seconds <= 1.0e6)
    return {};
  return "'" + text + "' is not a number of seconds from 0.001 to 1000000";
}

static void addRun(CLI::App &app, TrainOptions &options) {
  app.add_option("--ranks", options.ranks, "must be the plan's rank count")
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "train up to this step")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", options.seed, "instead of the recipe's");
  app.add_option("--eval-every", options.evalEvery,
                 "steps between evaluations; 0: at the end only")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--eval-batches", options.evalBatches,
                 "at most so many batches each time; 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--timeout", options.timeoutSeconds,
                 "longest wait for another rank, seconds")
      ->check(checkSeconds)
      ->capture_default_str();
  app.add_option("--inject-delays", options.delaySeed,
                 "sleep random times before collectives, for tests")
      ->type_name("SEED");
  app.add_option("--inject-nan", options.plantNan,
                 "NaN in the first element of a tensor when it is first "
                 "written in the step, for tests")
      ->type_name("STEP:RANK:INSTANCE:TENSOR");
}

static void addState(CLI::App &app, TrainOptions &options) {
  auto add = [&](const char *name, std::string &value, const char *help,
                 const char *type) {
    return app.add_option(name, value, help)
        ->type_name(type)
        ->group("Parameters and checkpoints");
  };
  add("--save", options.save, "folder of checkpoints", "DIR");
  app.add_option("--save-every", options.saveEvery,
                 "steps between checkpoints; 0: at the end only")
      ->check(CLI::NonNegativeNumber)
      ->needs("--save")
      ->group("Parameters and checkpoints");
  auto *resume = add("--resume", options.resume,
                     "a checkpoint or a folder of them (the latest)", "DIR");
  add("--load-params", options.loadParameters,
      "initial parameters from one safetensors file", "FILE")
      ->excludes(resume);
  add("--export", options.exportFile,
      "write the parameters to one safetensors file at the end", "FILE");
  add("--dump-state", options.dumpState,
      "write gradients, parameters and moments after the last step", "DIR");
  app.add_flag("--dump-every-step", options.dumpEveryStep,
               "dump after every step")
      ->needs("--dump-state")
      ->group("Parameters and checkpoints");
}

static void addReports(CLI::App &app, TrainOptions &options) {
  app.add_option("--metrics", options.metrics, "JSON lines, one per step")
      ->type_name("FILE")
      ->group("Reports");
  auto flag = [&](const char *name, bool &value, const char *help) {
    app.add_flag(name, value, help)->group("Reports");
  };
  flag("--quiet", options.quiet, "no progress on stderr");
  flag("--json", options.json, "a summary as JSON on stdout at the end");
  flag("--profile", options.profile, "time by kernel, on stderr");
  flag("--print-memory", options.printMemory, "bytes by region, as JSON");
  flag("--print-bytes", options.printBytes,
       "bytes sent per step by collective and group, as JSON");
  app.add_option("--peak-gflops", options.peakGflops,
                 "peak of one thread for MFU, instead of measuring it")
      ->check(CLI::PositiveNumber)
      ->group("Reports");
}

static void addSampling(CLI::App &app, TrainOptions &options) {
  auto *sample = app.add_option("--sample", options.sampleTokens,
                                "generate N tokens at the end")
                     ->type_name("N")
                     ->check(CLI::PositiveNumber)
                     ->group("Sampling");
  app.add_option("--prompt", options.prompt, "text to continue")
      ->needs(sample)
      ->group("Sampling");
  app.add_option("--temperature", options.temperature,
                 "0: always the most likely token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->needs(sample)
      ->group("Sampling");
  app.add_flag("--sample-only", options.sampleOnly,
               "do not train (with --resume or --load-params)")
      ->needs(sample)
      ->group("Sampling");
}

std::optional<int> parse(int argc, char **argv, bool embedded,
                         CommandLine &commandLine) {
  CLI::App app("Trains the compiled model on the ranks of its plan.");
  app.footer("Exit codes: 0 ok, 1 internal error, 2 usage, 3 input rejected, "
             "5 run failed or numbers differ, 6 stopped by SIGINT or SIGTERM "
             "(after saving, with --save).");
  if (!embedded)
    app.add_option("artifact", commandLine.artifact,
                   "executable made by `stretto compile`")
        ->required();
  addData(app, commandLine.options);
  addRun(app, commandLine.options);
  addState(app, commandLine.options);
  addReports(app, commandLine.options);
  addSampling(app, commandLine.options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // help
    std::cerr << "error: " << error.what() << "; see --help\n";
    return int(runtime::Code::Usage);
  }
  return std::nullopt;
}

} // namespace stretto::runner
