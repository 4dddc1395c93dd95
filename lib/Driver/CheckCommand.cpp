//===- CheckCommand.cpp - stretto check -----------------------------------===//
//
// Two proofs by computation: the program of N virtual ranks in f64 against the
// global program on one, and the compiled executable in f32 against the same.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "ExecutableCheck.h"
#include "Shrink.h"
#include "stretto/Interpreter/Check.h"
#include "stretto/Interpreter/PlantBug.h"
#include "stretto/Model/Vocabulary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

/// What the f64 reference does in a few seconds.
static constexpr double maxReferenceFlops = 1.0e9;
/// One tensor per rank and value: more than these take minutes and gigabytes.
static constexpr int64_t maxVirtualRanks = 4096;

namespace {
struct TemporaryFolder {
  SmallString<128> path;
  ~TemporaryFolder() {
    if (!path.empty())
      llvm::sys::fs::remove_directories(path);
  }
};

class Check {
public:
  Check(CommandLine &line, llvm::raw_ostream &out, llvm::raw_ostream &err)
      : line(line), out(out), err(err) {}

  int run();

private:
  int breakProgram(ModuleOp localized);
  int prove(Compilation &compilation, ModuleOp derived);
  int proveExecutable(Compilation &compilation, ModuleOp derived);
  int report();

  CommandLine &line;
  llvm::raw_ostream &out, &err;
  TemporaryFolder folder;
  std::string shrunk;
  std::vector<interp::CheckReport> reports;
};
} // namespace

int Check::run() {
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("stretto-check", folder.path)) {
    err << "error: cannot make a temporary folder: " << code.message() << "\n";
    return exitRunFailed;
  }
  line.compile.output = (folder.path + "/executable").str();
  Compilation compilation(line.compile, err);
  if (int code = compilation.load())
    return code;
  int64_t ranks = compilation.getPlan().numRanks();
  if (ranks > maxVirtualRanks) {
    err << "error: the mesh has " << ranks << " ranks, the reference runs "
        << maxVirtualRanks
        << " at most; check a smaller mesh with the same divisibility\n";
    return exitInputRejected;
  }
  Diagnostics diagnostics;
  Recipe &recipe = compilation.mutableRecipe();
  FailureOr<int64_t> microbatches = compilation.getPlan().resolveMicrobatches(
      recipe.globalBatch, diagnostics);
  if (succeeded(microbatches) &&
      trainingFlops(compilation.module(), recipe) > maxReferenceFlops) {
    shrunk = shrink(compilation.module(), recipe, compilation.getPlan(),
                    *microbatches);
    err << "the model is too big for the f64 reference; checking a smaller one "
           "with the same divisibility over the mesh: "
        << shrunk << "\n";
  }
  if (int code = compilation.runTo(Phase::Derive))
    return code;
  OwningOpRef<ModuleOp> derived = compilation.module().clone();
  if (int code = compilation.runTo(Phase::Localize))
    return code;
  if (!line.plantBug.empty())
    if (int code = breakProgram(compilation.module()))
      return code;
  if (int code = prove(compilation, *derived))
    return code;
  if (line.executable)
    if (int code = proveExecutable(compilation, *derived))
      return code;
  return report();
}

/// Makes the mistake that --plant-bug names.
int Check::breakProgram(ModuleOp localized) {
  auto [kind, place] = StringRef(line.plantBug).split(':');
  std::optional<interp::Bug> bug = interp::parseBug(kind);
  int64_t nth = 0;
  if (!bug || (!place.empty() && place.getAsInteger(10, nth))) {
    err << "error: '--plant-bug' takes drop-all-reduce, scale-gradient, "
           "wrong-axis or swap-shards, and a place as in wrong-axis:2; got '"
        << line.plantBug << "'\n";
    return exitUsage;
  }
  int64_t places = interp::countPlaces(localized, *bug);
  if (nth >= 0 && nth < places)
    return succeeded(interp::plantBug(localized, *bug, nth)) ? exitOk
                                                             : exitInternal;
  err << "error: '--plant-bug " << line.plantBug << "': the training step has "
      << places << " places for " << kind
      << (places ? ", counted from 0\n" : "\n");
  return exitUsage;
}

int Check::prove(Compilation &compilation, ModuleOp derived) {
  interp::CheckOptions options;
  options.steps = line.steps;
  options.tolerance = line.tolerance;
  options.seed = compilation.getRecipe().seed;
  auto checked = interp::check(derived, compilation.module(), options);
  if (failed(checked))
    return exitInternal;
  reports.push_back(std::move(*checked));
  return exitOk;
}

int Check::proveExecutable(Compilation &compilation, ModuleOp derived) {
  if (int code = compilation.runTo(Phase::Executable))
    return code;
  interp::RandomInputs inputs;
  inputs.seed = compilation.getRecipe().seed;
  inputs.vocabulary = vocabularyOf(derived);
  interp::TrainingOptions options;
  options.seed = compilation.getRecipe().seed;
  options.steps = roundsBelowF32(derived) ? 0 : line.steps;
  options.inputs = inputs;
  options.noise = interp::CheckOptions().noise;
  auto reference = interp::runTraining(derived, options);
  if (failed(reference))
    return exitInternal;
  std::string error;
  if (failed(writeRunInputs(folder.path, *reference, inputs, line.steps,
                            derived, error))) {
    err << "error: " << error << "\n";
    return exitRunFailed;
  }
  if (int code =
          runExecutable(line.compile.output, folder.path, line.steps, error)) {
    err << error << "error: the executable failed with exit code " << code
        << "\n";
    return exitRunFailed;
  }
  if (roundsBelowF32(derived) &&
      failed(followExecutable(folder.path, derived, line.steps, options,
                              *reference, error))) {
    err << "error: " << error << "\n";
    return exitRunFailed;
  }
  std::vector<double> rates;
  for (int64_t step = 1; step <= line.steps; ++step)
    rates.push_back(interp::hyperParameters(derived, step).getFloats()[0]);
  auto replay = interp::UpdateReplay::of(derived, reference->initial);
  auto compared = compareDumps(folder.path, *reference, rates, derived,
                               replay ? &*replay : nullptr, error);
  if (failed(compared)) {
    err << "error: " << error << "\n";
    return exitRunFailed;
  }
  compared->ranks = compilation.getPlan().numRanks();
  compared->seed = options.seed;
  reports.push_back(std::move(*compared));
  return exitOk;
}

int Check::report() {
  bool ok =
      llvm::all_of(reports, [](const auto &report) { return report.ok(); });
  if (line.json) {
    llvm::json::Array list;
    for (const interp::CheckReport &report : reports)
      list.push_back(report.toJson());
    out << llvm::json::Value(llvm::json::Object{
               {"ok", ok}, {"shrunk", shrunk}, {"reports", std::move(list)}})
        << "\n";
  } else {
    for (const interp::CheckReport &report : reports)
      report.print(out, /*all=*/false);
    out << (ok ? "equal to one device\n" : "NOT equal to one device\n");
  }
  return ok ? exitOk : exitRunFailed;
}

int stretto::runCheckCommand(CommandArguments arguments, llvm::raw_ostream &out,
                             llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine(
          "check",
          "MODEL [--steps N] [--tolerance X] [--executable yes|no] "
          "[--plant-bug KIND[:N]] "
          "[--recipe FILE] [--plan FILE] [--json]",
          arguments, /*passUnknown=*/false, line, out, err))
    return *code;
  return Check(line, out, err).run();
}
