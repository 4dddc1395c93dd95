//===- Passes.h - fusion ----------------------------------------*- C++ -*-===//
//
// Local segments to kernels and library calls.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_FUSE_PASSES_H
#define STRETTO_TRANSFORMS_FUSE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace stretto {
#define GEN_PASS_DECL
#include "stretto/Transforms/Fuse/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Transforms/Fuse/Passes.h.inc"
} // namespace stretto

#endif // STRETTO_TRANSFORMS_FUSE_PASSES_H
