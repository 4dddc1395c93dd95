//===- PlanCommand.cpp - stretto plan -------------------------------------===//
//
// What a plan takes, before anything runs: memory of a rank and when it is
// most, the work of a step and how much of it is repeated, the bytes sent. All
// is read off the compiled Program; nothing is allocated.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "ProgramTables.h"
#include "stretto/Cost/StepFlops.h"
#include "stretto/Program/Memory.h"
#include "stretto/Program/MemoryCurve.h"
#include "stretto/Report/MemoryPicture.h"
#include "stretto/Support/Files.h"
#include "stretto/Support/Text.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {

/// Everything that is printed.
struct PlanReport {
  std::string title;
  std::vector<MemoryRow> memory;
  std::vector<MemoryMoment> curve; // of a training step
  StepFlops work;
  double repeatedFlops = 0;                                  // of the work
  std::vector<std::pair<std::string, std::string>> policies; // scope, words
  std::vector<TrafficRow> traffic;
  int64_t rank = 0;

  uint64_t arena() const { return arenaBytes(memory); }
};

} // namespace

static std::string titleOf(Compilation &compilation) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const Plan &plan = compilation.getPlan();
  os << plan.numRanks() << (plan.numRanks() == 1 ? " rank" : " ranks");
  for (const MeshAxis &axis : plan.mesh)
    if (axis.size > 1)
      os << ", " << axis.name << " " << axis.size;
  os << "; " << compilation.getRecipe().globalBatch << " samples of "
     << compilation.getRecipe().sequence << " per step";
  return text;
}

/// "full", "selective, norms"; what `auto` came to.
static std::string policyText(CallOp call) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto words = call->getAttrOfType<ArrayAttr>(attr::recompute))
    llvm::interleaveComma(words.getAsValueRange<StringAttr>(), os);
  if (auto bytes = call->getAttrOfType<IntegerAttr>(attr::keepBytes))
    os << ", keeps up to " << readableBytes(uint64_t(bytes.getInt()))
       << " of whole tensors";
  if (call->hasAttr(attr::repeatGathers))
    os << (text.empty() ? "" : ", ") << "gathers, for the memory limit";
  return text;
}

static void notePolicies(ModuleOp applied, PlanReport &report) {
  for (ModelOp model : applied.getOps<ModelOp>())
    for (CallOp call : model.getOps<CallOp>())
      if (call->hasAttr(attr::recompute) || call->hasAttr(attr::repeatGathers))
        report.policies.push_back({call.getScope().str(), policyText(call)});
}

/// The work of the same step when nothing is repeated.
static int workWithoutRecompute(const CompileOptions &options, StepFlops &work,
                                llvm::raw_ostream &err) {
  Compilation plain(options, err);
  if (int code = plain.load())
    return code;
  plain.mutablePlan().recompute.clear();
  plain.mutablePlan().memoryBytes.reset();
  // Warnings were printed the first time.
  ScopedDiagnosticHandler quiet(&plain.getContext(),
                                [](Diagnostic &) { return success(); });
  if (int code = plain.runTo(Phase::Derive))
    return code;
  work = stepFlops(plain.module());
  return exitOk;
}

static int readProgram(Compilation &compilation, PlanReport &report,
                       llvm::raw_ostream &err) {
  report.memory = memoryOf(compilation.module());
  std::shared_ptr<const runtime::Program> program;
  if (int code = loadProgram(compilation, program, err))
    return code;
  if (report.rank >= program->mesh().numRanks()) {
    err << "error: no rank " << report.rank << ": the plan has ranks 0 to "
        << program->mesh().numRanks() - 1 << "\n";
    return exitUsage;
  }
  if (const program::Function *train = program->findFunction("train"))
    report.curve = memoryCurve(*program, *train);
  report.traffic = trafficOf(*program, report.rank);
  return exitOk;
}

static int makeReport(const CommandLine &line, PlanReport &report,
                      llvm::raw_ostream &err) {
  Compilation compilation(line.compile, err);
  if (int code = compilation.compile(Phase::Apply))
    return code;
  report.title = titleOf(compilation);
  report.rank = line.rank;
  notePolicies(compilation.module(), report);
  if (int code = compilation.runTo(Phase::Derive))
    return code;
  report.work = stepFlops(compilation.module());
  if (!report.policies.empty()) {
    StepFlops plain;
    if (int code = workWithoutRecompute(line.compile, plain, err))
      return code;
    report.repeatedFlops = report.work.total() - plain.total();
  }
  if (int code = compilation.runTo(Phase::Program))
    return code;
  return readProgram(compilation, report, err);
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static void printPeak(const PlanReport &report, llvm::raw_ostream &out) {
  const MemoryMoment &peak = peakOf(report.curve);
  out << "most alive   " << readableBytes(peak.total()) << " in "
      << peak.segment << " of " << peak.instance << ", micro-batch "
      << peak.microbatch << "\n";
}

/// Instances with one policy are one line.
static void printPolicies(const PlanReport &report, llvm::raw_ostream &out) {
  llvm::MapVector<StringRef, SmallVector<StringRef>> instances;
  for (const auto &[scope, words] : report.policies)
    instances[words].push_back(scope);
  out << "\nmay be computed again\n";
  for (const auto &[words, scopes] : instances) {
    out << "  ";
    llvm::interleaveComma(scopes, out);
    out << ": " << words << "\n";
  }
}

static void printReport(const PlanReport &report, llvm::raw_ostream &out) {
  out << report.title << "\n\nmemory of a rank\n";
  printMemory(out, report.memory);
  if (!report.curve.empty())
    printPeak(report, out);
  if (!report.policies.empty())
    printPolicies(report, out);
  auto giga = [](double flops) { return llvm::format("%.4g", flops / 1e9); };
  const StepFlops &work = report.work;
  out << "\nwork of a step, all ranks, in GFLOP\nforward      "
      << giga(work.forward) << "\nbackward     " << giga(work.backward)
      << "\nupdate       " << giga(work.rest) << "\n";
  if (report.repeatedFlops > 0)
    out << "repeated     " << giga(report.repeatedFlops)
        << llvm::format(" (+%.1f %%)",
                        100 * report.repeatedFlops /
                            (work.total() - report.repeatedFlops))
        << ", within backward\n";
  out << "\nsent by rank " << report.rank << "\n";
  printTraffic(report.traffic, out);
}

static void printJson(const PlanReport &report, llvm::raw_ostream &out) {
  llvm::json::Object policies;
  for (const auto &[scope, words] : report.policies)
    policies[scope] = words;
  out << llvm::json::Value(llvm::json::Object{
             {"plan", report.title},
             {"memory", toJson(report.memory)},
             {"curve", toJson(report.curve)},
             {"recompute", std::move(policies)},
             {"flops", llvm::json::Object{{"forward", report.work.forward},
                                          {"backward", report.work.backward},
                                          {"update", report.work.rest},
                                          {"repeated", report.repeatedFlops}}},
             {"traffic", trafficJson(report.traffic)}})
      << "\n";
}

static int draw(const PlanReport &report, const std::string &path,
                llvm::raw_ostream &err) {
  std::string text;
  llvm::raw_string_ostream os(text);
  drawMemory(os, report.curve, report.arena(),
             "Memory of a rank: " + report.title);
  std::error_code code = writeFile(path, text);
  if (!code)
    return exitOk;
  err << "error: cannot write '" << path << "': " << code.message() << "\n";
  return exitRunFailed;
}

int stretto::runPlanCommand(CommandArguments arguments, llvm::raw_ostream &out,
                            llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine(
          "plan",
          "MODEL [--recipe FILE] [--plan FILE] [--rank R] [--svg FILE] "
          "[--json]",
          arguments, /*passUnknown=*/false, line, out, err))
    return *code;
  PlanReport report;
  if (int code = makeReport(line, report, err))
    return code;
  if (line.json)
    printJson(report, out);
  else
    printReport(report, out);
  return line.svg.empty() || report.curve.empty() ? int(exitOk)
                                                  : draw(report, line.svg, err);
}
