//===- Passes.h - the sharding chapter --------------------------*- C++ -*-===//
//
// propagate -> assign -> plan-reshards -> localize.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_PASSES_H
#define STRETTO_TRANSFORMS_SHARD_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace stretto {
#define GEN_PASS_DECL
#include "stretto/Transforms/Shard/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "stretto/Transforms/Shard/Passes.h.inc"
} // namespace stretto

#endif // STRETTO_TRANSFORMS_SHARD_PASSES_H
