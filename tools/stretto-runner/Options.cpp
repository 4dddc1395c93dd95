#include "Options.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

namespace stretto::runner {

using runtime::TrainOptions;

/// What an unset variable of a shell would be.
static std::string isNotEmpty(const std::string &text) {
  return text.empty() ? "a file or folder without a name" : "";
}

static void addData(CLI::App &app, TrainOptions &options) {
  auto *data = app.add_option("--data", options.data,
                              "text files (a token is a byte), or one token "
                              "file X.bin with its index X.json");
  data->type_name("FILE...")->check(isNotEmpty)->group("Data");
  app.add_option("--tokens", options.batches,
                 "safetensors with tokens, labels and mask "
                 "[steps, batch, seq] to train on, in order")
      ->type_name("FILE")
      ->check(isNotEmpty)
      ->group("Data");
}

/// An option for whole decimal numbers from `least` to `most`; whatever does
/// not fit is an error, where CLI11 would take the nearest that does.
template <typename Integer, typename Target>
static CLI::Option *addWhole(CLI::App &app, const char *name, Target &target,
                             Integer least, Integer most, const char *help) {
  auto parse = [](const std::string &text, Integer &value) {
    const char *end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && rest == end;
  };
  auto check = [=](const std::string &text) -> std::string {
    Integer value;
    if (parse(text, value) && value >= least && value <= most)
      return {};
    return "'" + text + "' is not a whole number from " +
           std::to_string(least) + " to " + std::to_string(most);
  };
  auto store = [=, &target](const std::string &text) {
    Integer value;
    if (parse(text, value))
      target = value;
  };
  return app.add_option_function<std::string>(name, store, help)
      ->check(check)
      ->type_name("INT");
}

constexpr int64_t anyCount = std::numeric_limits<int64_t>::max();
constexpr uint64_t anySeed = std::numeric_limits<uint64_t>::max();

/// NaN is in no range.
static std::function<std::string(const std::string &)>
inRange(double least, double most, const char *what) {
  return [=](const std::string &text) -> std::string {
    char *end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && value >= least && value <= most)
      return {};
    std::ostringstream message;
    message.precision(9);
    message << "'" << text << "' is not " << what << " from " << least << " to "
            << most;
    return message.str();
  };
}

static void addRun(CLI::App &app, TrainOptions &options) {
  addWhole<int64_t>(app, "--ranks", options.ranks, 1, anyCount,
                    "must be the plan's rank count");
  addWhole<int64_t>(app, "--steps", options.steps, 0, anyCount,
                    "train up to this step");
  addWhole<uint64_t>(app, "--seed", options.seed, 0, anySeed,
                     "instead of the recipe's");
  addWhole<int64_t>(app, "--eval-every", options.evalEvery, 0, anyCount,
                    "steps between evaluations; 0: at the end only");
  addWhole<int64_t>(app, "--eval-batches", options.evalBatches, 0, anyCount,
                    "at most so many batches each time; 0: all");
  app.add_option("--timeout", options.timeoutSeconds,
                 "longest wait for another rank, seconds")
      ->check(inRange(0.001, 1.0e6, "a number of seconds"))
      ->capture_default_str();
  addWhole<uint64_t>(app, "--inject-delays", options.delaySeed, 0, anySeed,
                     "sleep random times before collectives, for tests")
      ->type_name("SEED");
  app.add_option("--inject-nan", options.plantNan,
                 "NaN in the first element of a tensor when it is first "
                 "written in the step (and not again after a roll back), for "
                 "tests")
      ->type_name("STEP:RANK:INSTANCE:TENSOR");
}

static void addState(CLI::App &app, TrainOptions &options) {
  auto add = [&](const char *name, std::string &value, const char *help,
                 const char *type) {
    return app.add_option(name, value, help)
        ->type_name(type)
        ->check(isNotEmpty)
        ->group("Parameters and checkpoints");
  };
  add("--save", options.save, "folder of checkpoints", "DIR");
  addWhole<int64_t>(app, "--save-every", options.saveEvery, 0, anyCount,
                    "steps between checkpoints; 0: at the end only")
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
      ->check(isNotEmpty)
      ->group("Reports");
  auto flag = [&](const char *name, bool &value, const char *help) {
    app.add_flag(name, value, help)->group("Reports");
  };
  flag("--quiet", options.quiet, "no progress on stderr");
  flag("--json", options.json, "a summary as JSON on stdout at the end");
  flag("--profile", options.profile, "time by kernel, on stderr");
  auto *trace =
      app.add_option("--trace", options.trace,
                     "what ran when in the last steps, for ui.perfetto.dev")
          ->type_name("FILE")
          ->check(isNotEmpty)
          ->group("Reports");
  addWhole<int64_t>(app, "--trace-steps", options.traceSteps, 1, 1000,
                    "so many last steps (2)")
      ->needs(trace)
      ->group("Reports");
  flag("--print-memory", options.printMemory, "bytes by region, as JSON");
  flag("--print-bytes", options.printBytes,
       "bytes sent per step by collective and group, as JSON");
  app.add_option("--peak-gflops", options.peakGflops,
                 "peak of one thread for MFU, instead of measuring it")
      ->check(inRange(1.0e-3, 1.0e9, "a number of GFLOP/s"))
      ->group("Reports");
}

static void addSampling(CLI::App &app, TrainOptions &options) {
  constexpr int64_t mostTokens = 1'000'000'000;
  auto *sample = addWhole<int64_t>(app, "--sample", options.sampleTokens, 1,
                                   mostTokens, "generate N tokens at the end")
                     ->type_name("N")
                     ->group("Sampling");
  app.add_option("--prompt", options.prompt, "text to continue")
      ->needs(sample)
      ->group("Sampling");
  app.add_option("--temperature", options.temperature,
                 "0: always the most likely token")
      ->check(inRange(0, 1.0e6, "a temperature"))
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
             "5 run failed or numbers differ, 6 stopped by SIGINT, SIGTERM or "
             "SIGHUP (after saving, with --save).");
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
