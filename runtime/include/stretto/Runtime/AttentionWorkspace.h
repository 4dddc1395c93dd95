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
  bool bf16 = false; ///< all but lse
};

/// Queries worked on at a time: 64, or fewer when their scores (f32,
/// kvLen x queries) would not stay within 512 KiB of L2 cache; a multiple of
/// 16, the queries of one vector.
constexpr int64_t attentionQueryBlock(const AttentionShape &shape) {
  int64_t queries = shape.kvLen <= 2048 ? 64 : shape.kvLen <= 4096 ? 32 : 16;
  int64_t all = (shape.qLen + 15) / 16 * 16;
  return queries < all ? queries : all;
}

/// Rows of f32 beside bf16 memory: of keys (k, v; in backward dk, dv), and of a
/// block of queries (q, out; in backward dout, and dq in the place of out).
struct AttentionStaging {
  int64_t keys = 0, queries = 0;

  static constexpr AttentionStaging of(const AttentionShape &shape) {
    if (!shape.bf16)
      return {};
    return shape.backward ? AttentionStaging{4, 3} : AttentionStaging{2, 2};
  }
};

/// Bytes of the workspace operand: the block of queries, transposed, and its
/// scores; in backward the same once more for their gradients; the staging.
constexpr uint64_t attentionWorkspaceBytes(const AttentionShape &shape) {
  uint64_t queries = uint64_t(attentionQueryBlock(shape));
  uint64_t keys = uint64_t(shape.kvLen), columns = uint64_t(shape.headDim);
  uint64_t scores = (columns + keys) * queries;
  AttentionStaging staging = AttentionStaging::of(shape);
  uint64_t rows =
      uint64_t(staging.keys) * keys + uint64_t(staging.queries) * queries;
  return ((shape.backward ? 2 : 1) * scores + rows * columns) * sizeof(float);
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_ATTENTIONWORKSPACE_H
