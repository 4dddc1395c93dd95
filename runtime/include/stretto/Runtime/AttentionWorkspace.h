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

/// Rows of queries worked on at a time: as many as keep one block of scores
/// (f32, rows x kvLen) within 128 KiB, a quarter or less of today's L2 caches;
/// at least 16, at most 128, a multiple of 16.
constexpr int64_t attentionQueryBlock(int64_t qLen, int64_t kvLen) {
  int64_t rows = kvLen > 0 ? (128 * 1024 / 4) / kvLen : 128;
  rows = rows / 16 * 16;
  rows = rows < 16 ? 16 : rows > 128 ? 128 : rows;
  return rows < qLen || qLen < 1 ? rows : qLen;
}

constexpr uint64_t attentionAlign64(uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// Bytes of the workspace operand: one block of scores forward; in backward
/// one more for its gradient and one value per row of the block.
constexpr uint64_t attentionWorkspaceBytes(const AttentionShape &shape) {
  uint64_t rows = uint64_t(attentionQueryBlock(shape.qLen, shape.kvLen));
  uint64_t block = attentionAlign64(rows * uint64_t(shape.kvLen) * 4);
  return shape.backward ? 2 * block + attentionAlign64(rows * 4) : block;
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_ATTENTIONWORKSPACE_H
