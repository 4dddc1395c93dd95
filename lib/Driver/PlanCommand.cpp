//===- PlanCommand.cpp - stretto plan -------------------------------------===//
//
// What a plan takes, before anything runs: memory of a rank and when it is
// most, the work of a step and how much of it is repeated, the bytes sent. All
// is read off the compiled Program; nothing is allocated.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "MeasuredMemory.h"
#include "ProgramTables.h"
#include "stretto/Cost/StepFlops.h"
#include "stretto/Program/Memory.h"
#include "stretto/Program/MemoryCurve.h"
#include "stretto/Report/MemoryPicture.h"
#include "stretto/Runtime/Exposed.h"
#include "stretto/Simulator/Timeline.h"
#include "stretto/Support/Files.h"
#include "stretto/Support/Text.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Transforms/Shard/Links.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace stretto;
using namespace stretto::driver;

namespace {

/// Everything that is printed.
struct PlanReport {
  std::string title;
  std::vector<MemoryRow> memory;
  std::vector<MemoryMoment> curve; // of a training step
  std::vector<uint64_t> measured;  // the same in a run; may be empty
  StepFlops work;
  double repeatedFlops = 0;                                  // of the work
  std::vector<std::pair<std::string, std::string>> policies; // scope, words
  std::vector<TrafficRow> traffic;
  int64_t rank = 0;
  std::vector<runtime::TraceSpan> timeline; // of a training step of the rank
  runtime::Communication communication;     // in it

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
       << " of a rank";
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

/// What a collective takes on the links that the plan describes.
static MachineRates ratesOf(const CommandLine &line, ModuleOp module) {
  MachineRates rates = line.rates;
  FailureOr<Links> links = failure();
  if (auto mesh = module->getAttrOfType<MeshAttr>(attr::mesh))
    links = Links::of(module, mesh);
  if (failed(links))
    return rates;
  rates.link = [links = *links](const std::vector<program::AxisRef> &refs,
                                int rounds, double bytes) {
    SmallVector<AxisRef> axes;
    for (const program::AxisRef &ref : refs)
      axes.push_back(
          {unsigned(ref.axis()), int64_t(ref.pre()), int64_t(ref.size())});
    return links.seconds(axes, rounds, bytes);
  };
  return rates;
}

static int readProgram(Compilation &compilation, const CommandLine &line,
                       PlanReport &report, llvm::raw_ostream &err) {
  report.memory = memoryOf(compilation.module());
  std::shared_ptr<const runtime::Program> program;
  if (int code = loadProgram(compilation, program, err))
    return code;
  if (report.rank >= program->mesh().numRanks()) {
    err << "error: no rank " << report.rank << ": the plan has ranks 0 to "
        << program->mesh().numRanks() - 1 << "\n";
    return exitUsage;
  }
  if (const program::Function *train = program->findFunction("train")) {
    report.curve = memoryCurve(*program, *train);
    report.timeline = simulate(*program, *train, report.rank,
                               ratesOf(line, compilation.module()));
    report.communication = runtime::communicationOf(report.timeline);
  }
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
  return readProgram(compilation, line, report, err);
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

/// Seconds that stream 0 computes.
static double computedSeconds(const PlanReport &report) {
  double seconds = 0;
  for (const runtime::TraceSpan &span : report.timeline)
    if (span.kind != "wait" && span.kind != "collective" && span.stream == 0)
      seconds += span.end - span.begin;
  return seconds;
}

static void printTime(const PlanReport &report, llvm::raw_ostream &out) {
  constexpr size_t mostRows = 8;
  const runtime::Communication &all = report.communication;
  auto milli = [](double seconds) {
    return llvm::format("%9.3f", 1e3 * seconds);
  };
  out << "\ntime of a step of rank " << report.rank
      << " by the cost model, in ms\nstep       "
      << milli(secondsOf(report.timeline)) << "\ncomputed   "
      << milli(computedSeconds(report)) << "\nsent       " << milli(all.seconds)
      << "\nexposed    " << milli(all.exposedSeconds) << "\n";
  for (size_t i = 0; i < std::min(mostRows, all.rows.size()); ++i) {
    const runtime::CommunicationRow &row = all.rows[i];
    out << "  " << milli(row.exposedSeconds) << " of " << milli(row.seconds)
        << "  " << row.segment << ": " << row.name
        << (row.cause.empty() ? "" : ", ") << row.cause << "\n";
  }
  if (all.rows.size() > mostRows)
    out << "  and " << all.rows.size() - mostRows << " more\n";
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
  if (!report.timeline.empty())
    printTime(report, out);
}

static llvm::json::Value timeJson(const PlanReport &report) {
  const runtime::Communication &all = report.communication;
  llvm::json::Array rows;
  for (const runtime::CommunicationRow &row : all.rows)
    rows.push_back(llvm::json::Object{{"name", row.name},
                                      {"segment", row.segment},
                                      {"cause", row.cause},
                                      {"count", int64_t(row.count)},
                                      {"bytes", int64_t(row.bytes)},
                                      {"seconds", row.seconds},
                                      {"exposed_seconds", row.exposedSeconds}});
  return llvm::json::Object{{"step_seconds", secondsOf(report.timeline)},
                            {"computed_seconds", computedSeconds(report)},
                            {"communication_seconds", all.seconds},
                            {"exposed_seconds", all.exposedSeconds},
                            {"collectives", std::move(rows)}};
}

static void printJson(const PlanReport &report, llvm::raw_ostream &out) {
  llvm::json::Object policies;
  for (const auto &[scope, words] : report.policies)
    policies[scope] = words;
  out << llvm::json::Value(llvm::json::Object{
             {"plan", report.title},
             {"memory", toJson(report.memory)},
             {"curve", toJson(report.curve)},
             {"measured", llvm::json::Array(report.measured)},
             {"recompute", std::move(policies)},
             {"flops", llvm::json::Object{{"forward", report.work.forward},
                                          {"backward", report.work.backward},
                                          {"update", report.work.rest},
                                          {"repeated", report.repeatedFlops}}},
             {"time", timeJson(report)},
             {"traffic", trafficJson(report.traffic)}})
      << "\n";
}

static int write(const std::string &path, const std::string &text,
                 llvm::raw_ostream &err) {
  std::error_code code = writeFile(path, text);
  if (!code)
    return exitOk;
  err << "error: cannot write '" << path << "': " << code.message() << "\n";
  return exitRunFailed;
}

static int draw(const PlanReport &report, const std::string &path,
                llvm::raw_ostream &err) {
  std::string text;
  llvm::raw_string_ostream os(text);
  drawMemory(os, report.curve, report.arena(),
             "Memory of a rank: " + report.title, report.measured);
  return write(path, text, err);
}

static int readMeasured(const std::string &path, PlanReport &report,
                        llvm::raw_ostream &err) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    err << "error: cannot open '" << path
        << "': " << buffer.getError().message() << "\n";
    return exitInputRejected;
  }
  auto measured =
      measuredMemory((*buffer)->getBuffer(), report.rank, report.curve);
  if (!measured) {
    err << "error: '" << path
        << "' does not say what was alive: " << toString(measured.takeError())
        << "\n";
    return exitInputRejected;
  }
  report.measured = std::move(*measured);
  return exitOk;
}

/// The timeline for Perfetto, as a run writes its own.
static int writeTimeline(const PlanReport &report, const std::string &path,
                         llvm::raw_ostream &err) {
  return write(path,
               runtime::traceFile(
                   {runtime::traceEvents(report.rank, report.timeline, 0)}),
               err);
}

int stretto::runPlanCommand(CommandArguments arguments, llvm::raw_ostream &out,
                            llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine(
          "plan",
          "MODEL [--recipe FILE] [--plan FILE] [--rank R] [--svg FILE] "
          "[--measured TRACE] [--timeline FILE] [--json]",
          arguments, /*passUnknown=*/false, line, out, err))
    return *code;
  PlanReport report;
  if (int code = makeReport(line, report, err))
    return code;
  if (!line.measured.empty())
    if (int code = readMeasured(line.measured, report, err))
      return code;
  if (line.json)
    printJson(report, out);
  else
    printReport(report, out);
  if (report.curve.empty())
    return exitOk;
  if (!line.svg.empty())
    if (int code = draw(report, line.svg, err))
      return code;
  return line.timeline.empty() ? int(exitOk)
                               : writeTimeline(report, line.timeline, err);
}
