//===- StepCost.h - what a choice makes a step cost -------------*- C++ -*-===//
//
// Private to the room: the answer that searches within a memory limit ask of a
// compiled copy.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_STEPCOST_H
#define STRETTO_LIB_DRIVER_STEPCOST_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <set>
#include <string>

namespace stretto::driver {

struct StepCost {
  uint64_t arenaBytes = 0; ///< of a rank
  double seconds = 0;      ///< work and exchanges of a step, by the links
  /// Layers with values that are saved as forward gathered them.
  std::set<std::string> keepingLayers;

  /// What fits comes before what does not; then what takes less time or, where
  /// nothing fits, less memory.
  bool isBelow(const StepCost &other, uint64_t limit) const {
    bool fits = arenaBytes <= limit, otherFits = other.arenaBytes <= limit;
    if (fits != otherFits)
      return fits;
    if (!fits && arenaBytes != other.arenaBytes)
      return arenaBytes < other.arenaBytes;
    if (seconds != other.seconds)
      return seconds < other.seconds;
    return arenaBytes < other.arenaBytes;
  }
};

/// Of what a module after Apply becomes.
using StepCostOf =
    llvm::function_ref<mlir::FailureOr<StepCost>(mlir::ModuleOp applied)>;

/// Seconds that a rank of a compiled Program works, for `flops` of all ranks,
/// and sends, by the links of the mesh, one after the other.
mlir::FailureOr<double> stepSeconds(mlir::ModuleOp compiled, double flops);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_STEPCOST_H
