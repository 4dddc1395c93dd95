//===- Passes.h - Programs --------------------------------------*- C++ -*-===//
//
// Constructors and registration of the passes of the room Program.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_PASSES_H
#define STRETTO_PROGRAM_PASSES_H

#include "mlir/Pass/Pass.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"

namespace stretto {

#define GEN_PASS_DECL
#include "stretto/Program/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Program/Passes.h.inc"

} // namespace stretto

#endif // STRETTO_PROGRAM_PASSES_H
