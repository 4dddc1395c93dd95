//===- ExecutableCheck.h - the executable against the reference -*- C++ -*-===//
//
// Private to the room: runs a compiled executable on the numbers that the
// reference saw and compares what it dumps.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_EXECUTABLECHECK_H
#define STRETTO_LIB_DRIVER_EXECUTABLECHECK_H

#include "stretto/Interpreter/Check.h"

namespace stretto::driver {

/// Files that the executable reads: batches and initial parameters.
mlir::LogicalResult writeRunInputs(llvm::StringRef folder,
                                   const interp::Trajectory &reference,
                                   const interp::InputSource &inputs,
                                   int64_t steps, mlir::ModuleOp derived,
                                   std::string &error);

/// Runs `executable` for `steps` steps with those files and dumps every step to
/// `folder`. Returns its exit code; `error` holds its stderr when not 0.
int runExecutable(llvm::StringRef executable, llvm::StringRef folder,
                  int64_t steps, std::string &error);

/// How far the executable's losses and gradients may be from the f64 reference,
/// relative to their norms. In f32 a constant; where layers compute in bf16,
/// 2 u sqrt(D) with the unit roundoff u = 2^-8 and D roundings on the longest
/// path from an input to a gradient (docs/precision.md).
double executableTolerance(mlir::ModuleOp derived);
/// Does the program round to less than f32?
bool roundsBelowF32(mlir::ModuleOp derived);

/// Runs the reference again, every step from the parameters that the executable
/// dumped before it: what rounding did to earlier updates (Adam makes a whole
/// step of a gradient that is noise) is no error of this one.
mlir::LogicalResult followExecutable(llvm::StringRef folder,
                                     mlir::ModuleOp derived, int64_t steps,
                                     const interp::TrainingOptions &options,
                                     interp::Trajectory &reference,
                                     std::string &error);

/// Compares every dumped step. `replay`: see Check.h; null when the optimizer
/// is not known.
mlir::FailureOr<interp::CheckReport>
compareDumps(llvm::StringRef folder, const interp::Trajectory &reference,
             llvm::ArrayRef<double> learningRates, mlir::ModuleOp derived,
             interp::UpdateReplay *replay, std::string &error);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_EXECUTABLECHECK_H
