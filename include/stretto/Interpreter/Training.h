//===- Training.h - steps of training in the interpreter --------*- C++ -*-===//
//
// Runs a module's training step some times, each step fed with the parameters
// and moments of the one before, and records every result as a global tensor.
// What is fed depends on names, logical shapes and the seed alone: the derived
// and the localized module of one model see the same numbers.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_TRAINING_H
#define STRETTO_INTERPRETER_TRAINING_H

#include "stretto/Interpreter/Layout.h"

#include <functional>

namespace stretto::interp {

/// One input of one step: name, logical shape [M, batch/M, ...], whether it
/// holds integers, and the step counted from 1.
using InputSource =
    std::function<Tensor(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                         bool integers, int64_t step)>;

struct RandomInputs {
  uint64_t seed = 1;
  int64_t vocabulary = 0; ///< integers are drawn from [0, vocabulary); 0: bytes
  /// Counted tokens of samples 0, 1, 2, ..., then at random; at most the
  /// sequence.
  std::vector<int64_t> counted = {16, 1, 9, 0};

  /// Random tokens and labels; a real input [M, samples, seq] is a mask of
  /// zeros and ones that counts the first `counted` tokens of each sample;
  /// other reals are normal.
  Tensor operator()(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                    bool integers, int64_t step) const;
};

/// lr, bias1, bias2, 0 of step t from `stretto.recipe`, as the f32 that ranks
/// get.
Tensor hyperParameters(mlir::ModuleOp module, int64_t t);

/// Results of a step by binding, as global tensors.
using StepRecord =
    llvm::MapVector<std::string, Gathered, std::map<std::string, unsigned>>;

struct TrainingOptions {
  uint64_t seed = 1;
  int64_t steps = 5;
  InputSource inputs;
  /// Standard deviation of what is added to drawn parameters, by logical
  /// element.
  double noise = 0;
  /// Initial parameters by name; those absent are drawn from `stretto.init`.
  std::map<std::string, Tensor> parameters;
};

struct Trajectory {
  std::map<std::string, Tensor> initial; ///< by binding, before step 1
  std::vector<StepRecord> steps;
};

/// Adds what `state` lacks of the step's parameters (given or drawn) and
/// moments (zero), by binding.
mlir::LogicalResult initialState(StepOp step, const TrainingOptions &options,
                                 std::map<std::string, Tensor> &state);

/// Runs step @`name` of `module`.
mlir::FailureOr<Trajectory> runTraining(mlir::ModuleOp module,
                                        const TrainingOptions &options,
                                        llvm::StringRef name = "train");

/// Runs step @`name` (eval, predict) once, as step `t`, with these parameters.
mlir::FailureOr<StepRecord> runOnce(StepOp step,
                                    const std::map<std::string, Tensor> &state,
                                    const TrainingOptions &options, int64_t t);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_TRAINING_H
