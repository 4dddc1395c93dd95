//===- Compilation.h - the phases from a model to an executable -*- C++ -*-===//
//
// A compilation walks the rooms in order and may stop after any of them. The
// phases are public vocabulary: `--stop-after=PHASE`, `--dump-dir`.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DRIVER_COMPILATION_H
#define STRETTO_DRIVER_COMPILATION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "stretto/Plan/Plan.h"
#include "stretto/Recipe/Recipe.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>

namespace stretto {

/// In the order in which data walks through the rooms.
enum class Phase {
  Model,      // parsed, the contract checked
  Apply,      // recipe and plan in the IR
  Derive,     // forward, backward, update; steps
  Distribute, // every value typed, collectives explicit
  Localize,   // the program of one rank
  Fuse,       // kernels and library calls
  Program,    // commands, buffers, slots
  Executable  // runner + Program + kernels
};

llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// "model, apply, …" for messages.
std::string allPhaseNames();

/// Documented exit codes of the tool.
enum ExitCode : int {
  exitOk = 0,
  exitInternal = 1,
  exitUsage = 2,
  exitInputRejected = 3,
  exitNothingFeasible = 4,
  exitRunFailed = 5,
  exitBudgetReached = 6
};

struct CompileOptions {
  std::string
      model; // folder with model.mlir, recipe.yaml, plan.yaml, or a .mlir
  std::string recipe; // empty: from the folder, else defaults
  std::string plan;   // empty: from the folder, else one device
  std::string output; // the executable
  std::string dumpDir;
  std::string cpu = "host"; // the processor that kernels are made for
  bool time = false;        // print the seconds of each phase
  int64_t ranks = 0; // what the plan's mesh must multiply to; 0: anything
};

/// One model on its way. Everything wrong is printed to `err`.
class Compilation {
public:
  Compilation(CompileOptions options, llvm::raw_ostream &err);
  ~Compilation();

  /// Reads model, recipe and plan. Returns an exit code.
  int load();
  /// Runs the phases after the present one up to `last`.
  int runTo(Phase last);
  /// load() and runTo() in one.
  int compile(Phase last);

  /// The IR as it is now, as text.
  void print(llvm::raw_ostream &out);

  mlir::ModuleOp module() { return *moduleRef; }
  const Recipe &getRecipe() const { return recipe; }
  const Plan &getPlan() const { return plan; }
  mlir::MLIRContext &getContext() { return context; }
  /// Changes what load() read, before Apply (check makes models smaller).
  Recipe &mutableRecipe() { return recipe; }
  Plan &mutablePlan() { return plan; }

private:
  int runPhase(Phase phase);
  int timed(llvm::StringRef name, llvm::function_ref<int()> work);
  int apply();
  void settleMemory();
  int checkMemory();
  std::string whatTakesLess() const;
  int runPasses(Phase phase);
  void tellRemarks();
  int writeExecutable();
  int dump(Phase phase);
  int dumpFile(Phase phase, llvm::StringRef name, llvm::StringRef text);
  int reject(const Diagnostics &diagnostics);
  int fail(const llvm::Twine &message, int code);

  CompileOptions options;
  llvm::raw_ostream &err;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
  std::vector<mlir::Diagnostic> remarks; // of the phase that runs
  bool holdsRemarks = true;
  mlir::OwningOpRef<mlir::ModuleOp> moduleRef;
  Recipe recipe;
  Plan plan;
  std::optional<Phase> reached;
  bool gathersAgain = false; // because memory demands it
};

} // namespace stretto

#endif // STRETTO_DRIVER_COMPILATION_H
