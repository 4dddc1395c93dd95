//===- BindShapes.h - dynamic dimensions become numbers ---------*- C++ -*-===//
//
// Private to the room: replaces `batch` and `seq` in a module's layers and
// model.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_APPLY_BINDSHAPES_H
#define STRETTO_LIB_TRANSFORMS_APPLY_BINDSHAPES_H

#include "mlir/IR/BuiltinOps.h"

namespace stretto {

/// Sizes of the dimensions that the recipe binds.
struct BoundSizes {
  int64_t batch; // samples of one micro-batch
  int64_t seq;   // tokens per sample
};

/// Makes every type of the layers and the model static.
mlir::LogicalResult bindShapes(mlir::ModuleOp module, BoundSizes sizes);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_APPLY_BINDSHAPES_H
