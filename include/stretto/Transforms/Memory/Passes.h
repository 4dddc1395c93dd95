//===- Passes.h - memory planning -------------------------------*- C++ -*-===//
//
// Constructors and registration of the passes of the room Memory.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_PASSES_H
#define STRETTO_TRANSFORMS_MEMORY_PASSES_H

#include "mlir/Pass/Pass.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"

namespace stretto {

#define GEN_PASS_DECL
#include "stretto/Transforms/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Transforms/Memory/Passes.h.inc"

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_PASSES_H
