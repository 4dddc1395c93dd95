//===- Check.h - equal to one device? ---------------------------*- C++ -*-===//
//
// Compares two courses of training, tensor by tensor: the derived program on
// one device against the localized program on virtual ranks, or against what
// the compiled executable dumped. Every gradient, updated parameter and output
// has a bound, every replica must agree bit for bit, all padding must be zero.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_CHECK_H
#define STRETTO_INTERPRETER_CHECK_H

#include "stretto/Interpreter/Training.h"
#include "stretto/Interpreter/UpdateReplay.h"
#include "llvm/Support/JSON.h"

namespace stretto::interp {

/// One tensor over all compared steps, at the step where it is worst.
struct CheckRow {
  std::string name; ///< "grad:layers.0.wq", "param:…", "output:loss", …
  int64_t step = 0;
  double error = 0; ///< norm of the difference
  double bound = 0;
  std::string fault; ///< replicas that differ, padding that is not zero, …

  bool ok() const { return fault.empty() && error <= bound; }
};

struct CheckReport {
  std::string title;
  uint64_t seed = 0;
  int64_t steps = 0, ranks = 1;
  double tolerance = 0;
  std::vector<CheckRow> rows;

  bool ok() const;
  /// All rows, or only those that fail and the worst of each kind.
  void print(llvm::raw_ostream &os, bool all = true) const;
  llvm::json::Value toJson() const;
};

struct CheckOptions {
  uint64_t seed = 1;
  int64_t steps = 5;
  double tolerance = 1e-10;
  int64_t vocabulary = 0; ///< 0: vocabularyOf the module
  std::vector<int64_t> counted = {16, 1, 9, 0};
  /// Noise on initial parameters: biases that start at zero and weights that
  /// start small hide mistakes.
  double noise = 0.1;
  bool otherSteps = true; ///< also compare @eval and @predict after training
};

/// Compares `steps` steps of two trajectories. Gradients: ‖Δ‖ ≤ tolerance ·
/// max(‖reference‖, global gradient norm); parameters: the same plus lr · √n ·
/// step · tolerance; loss and norm relative to the same scale; counts equal.
/// `learningRates[t-1]` is that of step t. Moments are not
/// bounded, but their replicas and padding are checked.
///
/// With a `replay` (at the trajectories' beginning), a parameter's reference is
/// p̂ₜ, what the optimizer makes in f64 of the gradients of `other`: the
/// distance to the reference's pₜ is at most ‖p − p̂‖ + ‖p̂ − pₜ‖, and the
/// second part is only the effect of gradient differences that are bounded on
/// their own. Without it, Adam would make ± lr of a gradient that is rounding
/// noise and the first part could not be told from it.
std::vector<CheckRow> compareTrajectories(const Trajectory &reference,
                                          const Trajectory &other,
                                          llvm::ArrayRef<double> learningRates,
                                          double tolerance,
                                          UpdateReplay *replay = nullptr);

/// Runs the derived and the localized module on the same numbers and compares
/// them, and each entry point besides @train once with the trained parameters.
mlir::FailureOr<CheckReport> check(mlir::ModuleOp derived,
                                   mlir::ModuleOp localized,
                                   const CheckOptions &options);

/// Reads every tensor of a safetensors file; F16 and BF16 are widened.
mlir::FailureOr<std::map<std::string, Tensor>>
readSafetensors(llvm::StringRef path, std::string &error);

/// Compares step `t` of a reference with the tensors that an executable dumped:
/// "grad/NAME" and "param/NAME" for every gradient and parameter of the
/// reference; a missing one is a fault. "output/loss" and the like are compared
/// where they are there. `replay` has made the steps before t and makes this
/// one; what it makes of the program's own gradients is bounded by
/// `updateTolerance` (0: `tolerance`), which is that of the optimizer alone.
std::vector<CheckRow> compareWithDump(const Trajectory &reference, int64_t t,
                                      const std::map<std::string, Tensor> &dump,
                                      double learningRate, double tolerance,
                                      UpdateReplay *replay = nullptr,
                                      double updateTolerance = 0);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_CHECK_H
