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

constexpr uint64_t attentionRoundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Elements between two rows of a block of scores: whole 64-byte vectors.
constexpr uint64_t attentionScoreStride(int64_t kvLen) {
  return attentionRoundUp(uint64_t(kvLen), 16);
}

/// Rows of queries worked on at a time. Many, so that the matrix products are
/// efficient; but the block of scores (f32, rows x kvLen) should stay within
/// 256 KiB of L2 cache, and a causal mask wastes half a block per block.
constexpr int64_t attentionQueryBlock(const AttentionShape &shape) {
  int64_t rows = int64_t(256 * 1024 / 4 / attentionScoreStride(shape.kvLen));
  int64_t most = shape.causal ? 64 : 128;
  rows = rows / 16 * 16;
  rows = rows < 32 ? 32 : rows > most ? most : rows;
  return rows < shape.qLen ? rows : shape.qLen;
}

/// Bytes of the workspace operand: one block of scores forward; in backward
/// another for its gradient.
constexpr uint64_t attentionWorkspaceBytes(const AttentionShape &shape) {
  uint64_t rows = uint64_t(attentionQueryBlock(shape));
  uint64_t block = rows * attentionScoreStride(shape.kvLen) * sizeof(float);
  return shape.backward ? 2 * block : block;
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_ATTENTIONWORKSPACE_H
