//===- AttentionWorkspace.h - workspace of an attention ---------*- C++ -*-===//
//
// How the attention operation is blocked, as a pure function of its sizes, so
// that the compiler plans exactly the workspace that the runtime uses. Depends
// on nothing.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_ATTENTIONWORKSPACE_H
#define STRETTO_RUNTIME_ATTENTIONWORKSPACE_H

#include <cstdint>

namespace stretto::runtime {

/// The fields of program::Attention that decide its shape.
struct AttentionShape {
  bool backward = false;
  int64_t batch = 0, qLen = 0, kvLen = 0;
  int64_t heads = 0, kvHeads = 0, headDim = 0;
  bool causal = false;
};

/// Queries worked on at a time: 64, or fewer when their scores (f32,
/// kvLen x queries) would not stay within 512 KiB of L2 cache; a multiple of
/// 16, the queries of one vector.
constexpr int64_t attentionQueryBlock(const AttentionShape &shape) {
  int64_t queries = shape.kvLen <= 2048 ? 64 : shape.kvLen <= 4096 ? 32 : 16;
  int64_t all = (shape.qLen + 15) / 16 * 16;
  return queries < all ? queries : all;
}

/// Bytes of the workspace operand: the block of queries, transposed, and its
/// scores; in backward the same once more for their gradients.
constexpr uint64_t attentionWorkspaceBytes(const AttentionShape &shape) {
  uint64_t rows = uint64_t(shape.headDim) + uint64_t(shape.kvLen);
  uint64_t bytes = rows * uint64_t(attentionQueryBlock(shape)) * 4;
  return shape.backward ? 2 * bytes : bytes;
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_ATTENTIONWORKSPACE_H
