//===- Origins.h - where the axes of a value come from ----------*- C++ -*-===//
//
// For explain: the way from a dimension of a value, through the operations that
// carried the wish, to the constraint or plan line that it began with.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_ORIGINS_H
#define STRETTO_TRANSFORMS_SHARD_ORIGINS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace stretto {

/// One sharded dimension of one value.
struct DimOrigin {
  std::string dimension; // its name, or "dimension 2"
  std::string axes;      // "{tp}"
  /// From here to the constraint: "rope.1", "einsum.2", "attn.wq", each the
  /// value that an operation links to the one before; `way[i]` of one segment
  /// may be followed by a result of another, written "decoder.fwd: add.4".
  std::vector<std::string> way;
  std::string cause; // the plan line, or what stands at the end of the way
};

struct ValueOrigins {
  std::string segment;
  std::string value; // "attn.wq", "x", "einsum.2": the second einsum
  std::string shape;
  std::vector<DimOrigin> dims;
};

/// What `tensor` means in a derived module (before or after `propagate`; not
/// changed): a parameter or input of a step ("layers.0.attn.wq"), in the first
/// segment that reads it; a segment ("decoder.fwd"), all its values; a value of
/// a segment ("decoder.fwd:einsum.2"). Empty when it means nothing; fails with
/// a diagnostic when propagation does.
mlir::FailureOr<std::vector<ValueOrigins>> originsOf(mlir::ModuleOp module,
                                                     llvm::StringRef tensor);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_SHARD_ORIGINS_H
