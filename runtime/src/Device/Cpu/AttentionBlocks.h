//===- AttentionBlocks.h - how attention is cut into blocks -----*- C++ -*-===//
//
// What the kinds of attention on the CPU share: which keys are taken together,
// which of them a block of queries sees, where everything lies. A kind says how
// one block is computed.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONBLOCKS_H
#define STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONBLOCKS_H

#include "AttentionSoftmax.h"
#include "TileGemm.h"

#include "stretto/Runtime/Device.h"
#include "stretto/Runtime/Random.h"

#include <algorithm>
#include <cmath>

namespace stretto::runtime {

/// The operands of the schema; T is float or Bf16.
template <typename T> struct AttentionBuffers {
  const T *q, *k, *v;
  T *out; // read-only in backward
  float *lse;
  const T *dout = nullptr;
  T *dq = nullptr, *dk = nullptr, *dv = nullptr;
  float *workspace;

  AttentionBuffers(void *const *buffers, bool backward) {
    auto at = [&](int i) { return static_cast<T *>(buffers[i]); };
    q = at(0), k = at(1), v = at(2), out = at(3);
    lse = static_cast<float *>(buffers[4]);
    if (backward)
      dout = at(5), dq = at(6), dk = at(7), dv = at(8);
    workspace = static_cast<float *>(buffers[backward ? 9 : 5]);
  }
};

/// Rows of f32, in place or staged.
struct Rows {
  float *data;
  int64_t stride;
};

/// One block of queries of one head: where everything starts.
struct Block {
  int64_t firstQuery, queries;
  int64_t keys; // that the last query sees
  int64_t queryOffset, lseOffset;
  int64_t outOffset; // of out and dq; queryOffset but for blocks of keys
  uint64_t element;  // dropout counter of (firstQuery, key 0)
};

/// Keys that are attended to together: all, or one block of them.
struct KeyBlock {
  int64_t index = 0;    // of the block
  int64_t begin = 0;    // first key, of those here
  int64_t position = 0; // of the first key, among all
  int64_t count = 0;    // without those past the end
};

/// Kind::Head, what the blocks of queries of one head share (in backward dk and
/// dv live until the last head that shares them), is made by
///   Head headAt(buffers, keyOffset, isFirst)
/// and used by
///   forward(buffers, head, block), backward(buffers, head, block, overwrite),
///   finish(head, buffers, keyOffset)
template <typename Kind, typename T> class AttentionBlocks : public Operation {
public:
  explicit AttentionBlocks(const AttentionTask &described)
      : task(described), s(task.shape), stride(attentionQueryBlock(s)),
        qRow(s.heads * s.headDim), kvRow(s.kvHeads * s.headDim),
        softmax(attentionSoftmax()) {
    if (task.queries == 0)
      task.queries = s.qLen;
    if (task.keys == 0)
      task.keys = s.kvLen;
    dropout.active = task.dropout > 0;
    dropout.opId = task.opId;
    dropout.perQuery = uint64_t(task.keys);
    dropout.threshold = random::dropoutThreshold(task.dropout);
    dropout.keptScale = float(1.0 / (1.0 - task.dropout));
  }

  void launch(void *const *operands, const int64_t *scalars) override {
    const AttentionBuffers<T> buffers(operands, s.backward);
    dropout.key = uint64_t(scalars[0]);
    // Within bounds, so that no sum overflows whatever a Program says.
    firstQuery = std::clamp<int64_t>(scalars[3], 0, mostPositions);
    int64_t firstKey = std::clamp<int64_t>(scalars[4], 0, mostPositions);
    int64_t length = (s.kvLen + task.blocks - 1) / task.blocks;
    for (int64_t index = 0; index < task.blocks; ++index) {
      keys.index = index;
      keys.begin = std::min(index * length, s.kvLen);
      keys.position = firstKey + keys.begin;
      keys.count = std::clamp<int64_t>(task.keys - keys.position, 0,
                                       std::min(length, s.kvLen - keys.begin));
      launch(buffers, scalars);
    }
  }

protected:
  /// Past the end of all queries: padding.
  bool isPadding(int64_t query) const {
    return firstQuery + query >= task.queries;
  }

  /// A query sees the first of all keys, up to its own position (counted from
  /// the end) under a causal mask: how many of those are in the present block.
  int64_t visibleKeys(int64_t query) const {
    if (isPadding(query))
      return 0;
    if (!s.causal)
      return keys.count;
    return std::clamp<int64_t>(diagonalOf(query), 0, keys.count);
  }
  int64_t diagonalOf(int64_t query) const {
    return firstQuery + query + task.keys - task.queries + 1 - keys.position;
  }

  Block makeBlock(int64_t b, int64_t h, int64_t first,
                  const int64_t *scalars) const {
    Block block;
    block.firstQuery = first;
    block.queries = std::min(stride, s.qLen - first);
    int64_t end = std::min(first + block.queries, task.queries - firstQuery);
    block.keys = end > first ? visibleKeys(end - 1) : 0;
    block.queryOffset = (b * s.qLen + first) * qRow + h * s.headDim;
    block.outOffset = block.queryOffset + keys.index * s.batch * s.qLen * qRow;
    block.lseOffset =
        ((keys.index * s.batch + b) * s.heads + h) * s.qLen + first;
    uint64_t head = uint64_t(scalars[1]) + uint64_t(h);
    uint64_t sample = uint64_t(scalars[2]) + uint64_t(b);
    block.element =
        ((sample * uint64_t(task.headsGlobal) + head) * uint64_t(task.queries) +
         uint64_t(firstQuery + first)) *
            uint64_t(task.keys) +
        uint64_t(keys.position);
    return block;
  }

  /// Query c of the block sees key j when j - c < this.
  int64_t diagonal(const Block &block) const {
    return s.causal ? diagonalOf(block.firstQuery) : TileGemm::nothing;
  }

  /// Zeros for the keys that the block does not see.
  void clearUnseen(const Block &block, const Rows &gradient) const {
    for (int64_t key = block.keys; key < s.kvLen; ++key)
      std::fill_n(gradient.data + key * gradient.stride, s.headDim, 0.0f);
  }

  /// Forward: maxima in `first` and sums in `second` give lse, and the factor
  /// that remains for the rows of the result in `second`.
  void finishRows(float *lse, const Block &block) {
    for (int64_t i = 0; i < block.queries; ++i) {
      lse[i] = first[i] + std::log(second[i]); // minus infinity without a key
      if (isPadding(block.firstQuery + i))
        lse[i] = 0;
      second[i] = second[i] == 0 ? 0 : 1 / second[i];
    }
  }

  /// run(columns, query) for each 16 queries of the block.
  template <typename Run>
  void forEachVector(const Block &block, float *scores, Run run) const {
    AttentionColumns columns;
    columns.stride = stride;
    columns.keys = block.keys;
    columns.scale = float(task.scale);
    columns.dropout = dropout;
    for (int64_t query = 0; query < block.queries; query += queriesPerVector) {
      columns.scores = scores + query;
      columns.dropout.element =
          block.element + uint64_t(query) * uint64_t(task.keys);
      for (int64_t i = 0; i < queriesPerVector; ++i)
        columns.visible[i] = int32_t(
            std::min(visibleKeys(block.firstQuery + query + i), block.keys));
      run(columns, query);
    }
  }

  AttentionTask task;
  AttentionShape s;
  int64_t stride;      // queries of a block; elements between keys of scores
  int64_t qRow, kvRow; // elements between positions of a sequence
  const AttentionSoftmax &softmax;
  AttentionDropout dropout;
  static constexpr int64_t mostPositions = int64_t(1) << 40;
  int64_t firstQuery = 0; // position of query 0 among all
  KeyBlock keys;
  // One value for each query of a block.
  alignas(64) float first[64];
  alignas(64) float second[64];

private:
  void launch(const AttentionBuffers<T> &buffers, const int64_t *scalars) {
    Kind &kind = static_cast<Kind &>(*this);
    int64_t headsPerKey = s.heads / s.kvHeads;
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h) {
        int64_t keyOffset =
            (b * s.kvLen + keys.begin) * kvRow + h / headsPerKey * s.headDim;
        bool isFirst = h % headsPerKey == 0;
        auto head = kind.headAt(buffers, keyOffset, isFirst);
        for (int64_t i = (s.qLen - 1) / stride; i >= 0; --i) {
          Block block = makeBlock(b, h, i * stride, scalars);
          bool overwrite =
              isFirst && block.firstQuery + block.queries == s.qLen;
          s.backward ? kind.backward(buffers, head, block, overwrite)
                     : kind.forward(buffers, head, block);
        }
        if (s.backward && (h + 1) % headsPerKey == 0)
          kind.finish(head, buffers, keyOffset);
      }
  }
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_ATTENTIONBLOCKS_H
