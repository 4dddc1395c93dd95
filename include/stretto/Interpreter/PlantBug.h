//===- PlantBug.h - break a localized module on purpose ---------*- C++ -*-===//
//
// The mistakes that parallel training is prone to, made in a correct localized
// module, so that tests can show that the check finds each of them. The pass
// `test-plant-bug` does the same.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_PLANTBUG_H
#define STRETTO_INTERPRETER_PLANTBUG_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

#include <optional>

namespace stretto::interp {

enum class Bug {
  DropAllReduce, ///< an all_reduce becomes the identity
  ScaleGradient, ///< a gradient or an accumulator is doubled
  WrongAxis,     ///< a collective works over other axes of the mesh
  SwapShards,    ///< two ranks' shards change places: at a gather, scatter or
                 ///< slice, or in a sharded gradient
};

/// "drop-all-reduce", "scale-gradient", "wrong-axis" or "swap-shards".
std::optional<Bug> parseBug(llvm::StringRef kind);

/// Number of places in the training step of `module` where `bug` can be
/// planted.
int64_t countPlaces(mlir::ModuleOp module, Bug bug);

/// Plants `bug` at the nth place, in order of the text, from 0. Fails with a
/// diagnostic when there are not so many places.
mlir::LogicalResult plantBug(mlir::ModuleOp module, Bug bug, int64_t nth);

/// The all-reduces that DropAllReduce drops, in its order.
std::vector<AllReduceOp> allReducesOf(mlir::ModuleOp module);

} // namespace stretto::interp

#endif // STRETTO_INTERPRETER_PLANTBUG_H
