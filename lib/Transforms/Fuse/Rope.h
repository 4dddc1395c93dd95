//===- Rope.h - rotary embedding as scalar nodes ----------------*- C++ -*-===//
//
// Rotates pairs (i, i + half) of a dimension: the dimension is split into
// (half, pair), and the partner of an element is the same expression with the
// half index turned around.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_FUSE_ROPE_H
#define STRETTO_LIB_TRANSFORMS_FUSE_ROPE_H

#include "NodeFactory.h"

namespace stretto::kernel {

struct Rope {
  Node *result; // becomes x cos + partner sin
  Node *x, *position;
  unsigned dim; // the same for all ropes of a kernel
  int64_t half;
  double base;
  bool transposed;
};

/// Every node add(x, position) whose `count` is 1 + the index of a rope becomes
/// that rope: copies that slices and pads made of it as well.
void lowerRopes(KernelGraph &graph, llvm::ArrayRef<Rope> ropes);

} // namespace stretto::kernel

#endif // STRETTO_LIB_TRANSFORMS_FUSE_ROPE_H
