//===- Compilation.cpp - the phases from a model to an executable ---------===//

#include "stretto/Driver/Compilation.h"
#include "MemorySearch.h"
#include "StepCost.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "stretto/Cost/StepFlops.h"
#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "stretto/Driver/Executable.h"
#include "stretto/Driver/Register.h"
#include "stretto/Program/Memory.h"
#include "stretto/Support/Files.h"
#include "stretto/Support/Text.h"
#include "stretto/Transforms/Apply/ApplyPlan.h"
#include "stretto/Transforms/Apply/ApplyRecipe.h"
#include "stretto/Transforms/Apply/RecomputePolicy.h"
#include "stretto/Transforms/Shard/SavedCopies.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace mlir;
using namespace stretto;

//===----------------------------------------------------------------------===//
// Phases by name
//===----------------------------------------------------------------------===//

namespace {
struct PhaseInfo {
  Phase phase;
  StringLiteral name;
  StringLiteral passes; // a pipeline that reads as prose; empty: done in C++
};
} // namespace

static constexpr PhaseInfo phases[] = {
    {Phase::Model, "model", "verify-model"},
    {Phase::Apply, "apply", ""},
    {Phase::Derive, "derive", "derive,verify-derived,count-flops"},
    {Phase::Distribute, "distribute", "propagate,assign,plan-reshards"},
    {Phase::Localize, "localize", "localize,combine-collectives,verify-local"},
    {Phase::Fuse, "fuse", "fuse"},
    {Phase::Program, "program", "lower-to-program,verify-program"},
    {Phase::Executable, "executable", ""},
};

StringRef stretto::phaseName(Phase phase) { return phases[int(phase)].name; }

std::optional<Phase> stretto::parsePhase(StringRef name) {
  for (const PhaseInfo &info : phases)
    if (info.name == name)
      return info.phase;
  return std::nullopt;
}

std::string stretto::allPhaseNames() {
  return llvm::join(
      llvm::map_range(phases, [](const PhaseInfo &p) { return p.name; }), ", ");
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

Compilation::Compilation(CompileOptions options, llvm::raw_ostream &err)
    : options(std::move(options)), err(err),
      context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  handler =
      std::make_unique<SourceMgrDiagnosticHandler>(sources, &context, err);
  // MLIR repeats what an operation has already said better; remarks wait for
  // the end of their phase.
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark &&
        holdsRemarks) {
      remarks.push_back(std::move(diagnostic));
      return success();
    }
    return success(StringRef(diagnostic.str())
                       .ends_with("failed to infer returned types"));
  });
}

Compilation::~Compilation() = default;

int Compilation::fail(const Twine &message, int code) {
  err << "error: " << message << "\n";
  return code;
}

int Compilation::reject(const Diagnostics &diagnostics) {
  diagnostics.print(err);
  return exitInputRejected;
}

//===----------------------------------------------------------------------===//
// Load
//===----------------------------------------------------------------------===//

/// The files of MODEL: a folder with the three, or a .mlir.
static void completePaths(CompileOptions &options) {
  if (!llvm::sys::fs::is_directory(options.model))
    return;
  auto inFolder = [&](StringRef name) {
    SmallString<128> path(options.model);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  for (auto [path, name] : {std::pair(&options.recipe, "recipe.yaml"),
                            std::pair(&options.plan, "plan.yaml")})
    if (path->empty() && llvm::sys::fs::exists(inFolder(name)))
      *path = inFolder(name);
  options.model = inFolder("model.mlir");
}

int Compilation::load() {
  completePaths(options);
  Diagnostics diagnostics;
  if (!options.recipe.empty()) {
    FailureOr<Recipe> read = readRecipe(options.recipe, diagnostics);
    if (failed(read))
      return reject(diagnostics);
    recipe = *read;
  }
  plan = Plan::singleDevice();
  if (!options.plan.empty()) {
    FailureOr<Plan> read = readPlan(options.plan, diagnostics);
    if (failed(read))
      return reject(diagnostics);
    plan = *read;
  }
  if (options.ranks && failed(checkRanks(plan, options.ranks, diagnostics)))
    return reject(diagnostics);
  std::string message;
  auto buffer = llvm::MemoryBuffer::getFile(options.model);
  if (!buffer)
    return fail("cannot read model '" + options.model +
                    "': " + buffer.getError().message() +
                    "; MODEL is a folder with model.mlir or a .mlir file",
                exitInputRejected);
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  moduleRef = parseSourceFile<ModuleOp>(sources, &context);
  if (!moduleRef)
    return exitInputRejected;
  if (moduleRef->getOps<ModelOp>().empty())
    return fail("'" + options.model + "' holds no stretto.model",
                exitInputRejected);
  return runTo(Phase::Model);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

int Compilation::compile(Phase last) {
  int code = load();
  return code ? code : runTo(last);
}

int Compilation::runTo(Phase last) {
  for (const PhaseInfo &info : phases) {
    if (reached && int(info.phase) <= int(*reached))
      continue;
    if (int(info.phase) > int(last))
      break;
    if (int code = timed(info.name, [&] { return runPhase(info.phase); }))
      return code;
    reached = info.phase;
    if (int code = dump(info.phase))
      return code;
  }
  return exitOk;
}

/// Runs `work`; with --time, says how long it took.
int Compilation::timed(StringRef name, llvm::function_ref<int()> work) {
  auto begin = std::chrono::steady_clock::now();
  int code = work();
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (options.time && code == exitOk)
    err << llvm::format("%-10s %8.4f s\n", name.str().c_str(), seconds.count());
  return code;
}

void Compilation::print(llvm::raw_ostream &out) {
  (void)timed("print", [&] {
    moduleRef->print(out);
    out << "\n";
    out.flush();
    return int(exitOk);
  });
}

int Compilation::runPhase(Phase phase) {
  if (phase == Phase::Apply)
    return apply();
  if (phase == Phase::Executable)
    return writeExecutable();
  return runPasses(phase);
}

/// Fewer samples than data replicas: some ranks repeat the work of others.
static void warnIfReplicated(const Plan &plan, int64_t samples,
                             Diagnostics &diagnostics) {
  Plan::Placement batch = plan.resolve("", "batch");
  int64_t replicas = plan.numParts(batch.axes);
  if (samples < replicas)
    diagnostics.warning(
        batch.location,
        "a micro-batch of " + Twine(samples) + " samples does not fill " +
            Twine(replicas) +
            " data replicas (batch: " + llvm::join(batch.axes, " x ") +
            "); ranks repeat work or idle; use fewer micro-batches or a larger "
            "global batch");
}

int Compilation::apply() {
  Diagnostics diagnostics;
  FailureOr<int64_t> microbatches =
      plan.resolveMicrobatches(recipe.globalBatch, diagnostics);
  if (failed(microbatches) || failed(applyPlan(*moduleRef, plan, diagnostics)))
    return reject(diagnostics);
  int64_t samples = recipe.globalBatch / *microbatches;
  if (failed(checkSplits(plan, samples, recipe.sequence, diagnostics)))
    return reject(diagnostics);
  warnIfReplicated(plan, samples, diagnostics);
  diagnostics.print(err); // warnings
  if (failed(applyRecipe(*moduleRef, recipe, *microbatches)))
    return exitInputRejected;
  if (plan.memoryBytes)
    settleMemory();
  return exitOk;
}

static LogicalResult runPipeline(ModuleOp module, StringRef passes,
                                 llvm::raw_ostream &err) {
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(passes, manager, err)))
    return failure();
  // One verification closes each phase; stretto-opt verifies after each pass.
  manager.enableVerifier(false);
  return success(succeeded(manager.run(module)) && succeeded(verify(module)));
}

static LogicalResult runPhases(ModuleOp module, Phase first, Phase last) {
  for (int phase = int(first); phase <= int(last); ++phase)
    if (failed(runPipeline(module, phases[phase].passes, llvm::nulls())))
      return failure();
  return success();
}

/// Tries what the plan left open on copies, walked to the Program.
void Compilation::settleMemory() {
  auto costOf = [&](ModuleOp applied) -> FailureOr<driver::StepCost> {
    driver::StepCost cost;
    OwningOpRef<ModuleOp> copy = applied.clone();
    if (failed(runPhases(*copy, Phase::Derive, Phase::Derive)))
      return failure();
    double flops = stepFlops(*copy).total();
    if (failed(runPhases(*copy, Phase::Distribute, Phase::Distribute)))
      return failure();
    for (const SavedCopy &saved : savedCopiesOf(*copy))
      if (saved.isKept)
        cost.keepingLayers.insert(saved.layer);
    // What is taken in the end is verified.
    if (failed(runPhases(*copy, Phase::Localize, Phase::Fuse)) ||
        failed(runPipeline(*copy, "lower-to-program", llvm::nulls())))
      return failure();
    cost.arenaBytes = arenaBytes(memoryOf(*copy));
    FailureOr<double> seconds = driver::stepSeconds(*copy, flops);
    if (failed(seconds))
      return failure();
    cost.seconds = *seconds;
    return cost;
  };
  // What is wrong is said once, by the phases on the module itself.
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  (void)driver::settleMemory(*moduleRef, uint64_t(*plan.memoryBytes), costOf);
  moduleRef->walk(
      [&](CallOp call) { gathersAgain |= call->hasAttr(attr::repeatGathers); });
}

/// An error stands above what is only worth a remark.
void Compilation::tellRemarks() {
  holdsRemarks = false;
  for (Diagnostic &remark : remarks)
    context.getDiagEngine().emit(std::move(remark));
  remarks.clear();
  holdsRemarks = true;
}

/// The plan's limit, against what the compiled Program takes.
int Compilation::checkMemory() {
  std::vector<MemoryRow> rows = memoryOf(*moduleRef);
  uint64_t arena = arenaBytes(rows);
  if (!plan.memoryBytes || arena <= uint64_t(*plan.memoryBytes))
    return exitOk;
  auto of = [&](program::Region region) {
    return readableBytes(rows[size_t(region)].held());
  };
  Diagnostics diagnostics;
  (void)diagnostics.error(
      plan.memoryLocation,
      "a rank takes " + readableBytes(arena) + " (" + Twine(arena) +
          " B), more than the plan's memory of " +
          readableBytes(uint64_t(*plan.memoryBytes)) +
          (plan.recomputesToFit()
               ? ", with all that 'recompute: auto' may repeat"
               : "") +
          (gathersAgain ? ", with what forward gathered gathered again" : ""));
  diagnostics.note(plan.memoryLocation,
                   "parameters " + of(program::Region::Parameters) +
                       ", optimizer " + of(program::Region::Optimizer) +
                       ", gradients " + of(program::Region::Gradients) +
                       ", activations " + of(program::Region::Activations) +
                       ", scratch " + of(program::Region::Scratch) +
                       ", gathered parameters " + of(program::Region::Working) +
                       ", inputs " + of(program::Region::Inputs) +
                       ", outputs " + of(program::Region::Outputs) +
                       ", fragmentation " +
                       readableBytes(fragmentationBytes(rows)) +
                       "; smaller are " + whatTakesLess());
  diagnostics.print(err);
  return exitNothingFeasible;
}

/// What the plan does not do yet.
std::string Compilation::whatTakesLess() const {
  std::vector<std::string> ways;
  if (!plan.recomputesToFit())
    ways.push_back("'recompute: auto'");
  bool whole = llvm::none_of(plan.zero, [](const ZeroRule &rule) {
    return rule.stage == 3 || rule.params;
  });
  if (plan.numRanks() > 1 && whole)
    ways.push_back("sharded state ('zero: 3')");
  if (plan.overlap.overlaps && plan.overlap.prefetch > 0 && !whole)
    ways.push_back("'overlap: { prefetch: 0 }'");
  ways.insert(ways.end(), {"more micro-batches", "more ranks"});
  return llvm::join(ways, ", ");
}

int Compilation::runPasses(Phase phase) {
  bool isFine =
      succeeded(runPipeline(*moduleRef, phases[int(phase)].passes, err));
  tellRemarks();
  if (isFine)
    return phase == Phase::Program ? checkMemory() : int(exitOk);
  // What goes wrong after the model was derived and typed is ours.
  if (int(phase) <= int(Phase::Distribute))
    return exitInputRejected;
  return fail("phase '" + phaseName(phase) +
                  "' failed on IR that earlier phases accepted: a bug in "
                  "stretto; --dump-dir keeps the IR before it",
              exitInternal);
}

int Compilation::writeExecutable() {
  std::string message, llvmIR;
  KernelOptions kernels;
  kernels.cpu = options.cpu;
  if (!options.dumpDir.empty())
    kernels.llvmIR = &llvmIR;
  if (int code = stretto::writeExecutable(*moduleRef, options.output, kernels,
                                          message))
    return fail(message, code);
  return llvmIR.empty() ? int(exitOk)
                        : dumpFile(Phase::Executable, "kernels.ll", llvmIR);
}

/// D/3-derive.mlir and so on; of the last phase D/8-kernels.ll, written where
/// it is made.
int Compilation::dump(Phase phase) {
  if (options.dumpDir.empty() || phase == Phase::Executable)
    return exitOk;
  std::string text;
  llvm::raw_string_ostream os(text);
  moduleRef->print(os);
  os << "\n";
  return dumpFile(phase, (phaseName(phase) + ".mlir").str(), text);
}

int Compilation::dumpFile(Phase phase, StringRef name, StringRef text) {
  if (std::error_code code = llvm::sys::fs::create_directories(options.dumpDir))
    return fail("cannot make '" + options.dumpDir + "': " + code.message(),
                exitRunFailed);
  SmallString<128> path(options.dumpDir);
  llvm::sys::path::append(path, Twine(int(phase) + 1) + "-" + name);
  std::error_code code = writeFile(path, text);
  return code ? fail("cannot write '" + path + "': " + code.message(),
                     exitRunFailed)
              : exitOk;
}
