//===- Passes.h - passes of the interpreter's room --------------*- C++ -*-===//
//
// Constructors and registration of the room's (testing) passes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_PASSES_H
#define STRETTO_INTERPRETER_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace stretto {

#define GEN_PASS_DECL
#include "stretto/Interpreter/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Interpreter/Passes.h.inc"

} // namespace stretto

#endif // STRETTO_INTERPRETER_PASSES_H
