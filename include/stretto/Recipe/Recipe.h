//===- Recipe.h - how a model is trained ------------------------*- C++ -*-===//
//
// The recipe fixes what is computed besides the model: batch, sequence, steps,
// seed, precision, optimizer, learning-rate schedule and evaluation. It is
// read from strict, versioned YAML in which every field has a default.
// Together with the model and the data it determines the result; the plan
// (Plan.h) changes only where and when.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RECIPE_RECIPE_H
#define STRETTO_RECIPE_RECIPE_H

#include "stretto/Support/Diagnostics.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace stretto {

/// The types that `precision` may name; F16 and F64 are refused.
enum class FloatKind { F32, BF16, F16, F64 };
enum class OptimizerKind { AdamW, Sgd };
enum class DecayKind { Constant, Linear, Cosine };
/// What happens when a loss or gradient is not finite: end the run, or leave
/// parameters and moments as they are and go on with the next step.
enum class NonfinitePolicy { Stop, Skip, Rollback };

struct Recipe {
  static constexpr int64_t version = 1;

  int64_t globalBatch = 16; // samples per optimizer step, over all ranks
  int64_t sequence = 256;   // tokens per sample
  int64_t steps = 200;
  uint64_t seed = 1;

  struct Precision {
    FloatKind params = FloatKind::F32;    // at rest; only F32
    FloatKind compute = FloatKind::F32;   // what layers read and write
    FloatKind gradients = FloatKind::F32; // in which they are accumulated
    FloatKind reduce = FloatKind::F32;    // in which ranks add them
  } precision;

  struct Optimizer {
    OptimizerKind kind = OptimizerKind::AdamW;
    double learningRate = 3e-4;
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8; // AdamW only
    double momentum = 0;                              // SGD only
    double weightDecay = 0.1; // decoupled (AdamW); added to the gradient (SGD)
    std::optional<double> clip = 1.0; // largest global gradient norm
  } optimizer;

  struct Schedule {
    int64_t warmup = 20; // steps of linear warm-up
    DecayKind decay = DecayKind::Cosine;
    std::optional<double> minLearningRate; // default: a tenth of the rate
    std::optional<int64_t> decaySteps;     // default: all steps
  } schedule;

  struct Evaluation {
    int64_t every = 50;     // steps between evaluations; 0: only at the end
    double fraction = 0.05; // of the data that is held out
  } eval;

  NonfinitePolicy nonfinite = NonfinitePolicy::Stop;

  double minLearningRate() const;
  int64_t decaySteps() const { return schedule.decaySteps.value_or(steps); }
  /// The learning rate of optimizer step `step`, counted from 1: a line from 0
  /// to the full rate at step `warmup`, then the decay down to the least rate
  /// at step `decaySteps`, then constant.
  double learningRateAt(int64_t step) const;

  /// Where a field was written: "optimizer.lr". Unknown if it is a default.
  SourceLocation locate(llvm::StringRef field) const;
  std::map<std::string, SourceLocation, std::less<>> locations;

  /// The effective recipe, every field spelled out; parses back to the same.
  std::string toYaml() const;
};

/// Reads a recipe; `file` is the name shown in messages.
llvm::FailureOr<Recipe> parseRecipe(llvm::StringRef text, llvm::StringRef file,
                                    Diagnostics &diagnostics);
llvm::FailureOr<Recipe> readRecipe(llvm::StringRef path,
                                   Diagnostics &diagnostics);

/// The checks between fields; run again after a field was overridden (by a
/// command-line option, for instance).
llvm::LogicalResult checkRecipe(const Recipe &recipe, Diagnostics &diagnostics);

llvm::StringRef stringify(FloatKind kind);
llvm::StringRef stringify(OptimizerKind kind);
llvm::StringRef stringify(DecayKind kind);
llvm::StringRef stringify(NonfinitePolicy policy);

} // namespace stretto

#endif // STRETTO_RECIPE_RECIPE_H
