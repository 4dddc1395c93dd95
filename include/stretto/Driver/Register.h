//===- Register.h - everything that belongs to Stretto ----------*- C++ -*-===//
//
// One place that knows all dialects, interface models and passes, for tools.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DRIVER_REGISTER_H
#define STRETTO_DRIVER_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace stretto {

/// Dialects and the interface models that rooms attach to their operations.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Every pass, by its command-line name.
void registerAllPasses();

} // namespace stretto

#endif // STRETTO_DRIVER_REGISTER_H
