//===- Attention.cpp - exact attention, block by block --------------------===//
//
// For one head and one block of queries, with S = scale Q K^T, P = softmax(S),
// and P' = P after dropout:
//
//   forward   O = P' V,  lse = log sum exp S
//   backward  D = rowsum(dO * O),  dP' = dO V^T,  dS = P (m dP' - D) scale,
//             dV += P'^T dO,  dQ = dS K,  dK += dS^T Q
//
// (Dao et al., FlashAttention-2, 2023, algorithms 1 and 2; m is the dropout
// factor.) A block of scores holds all keys that its last query sees, so the
// softmax is exact in one go; what lies beyond is neither computed nor read.
// The matrix products are oneDNN's, directly on the strided tensors. Blocks are
// taken from the last to the first: the last one sees every key, so the first
// product into dK and dV overwrites and the others add.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "AttentionRows.h"

#include "stretto/Runtime/Isa.h"
#include "stretto/Runtime/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace stretto::runtime {

const AttentionRows &attentionRows() {
  switch (hostIsa()) {
  case Isa::V4:
    return x86v4::attentionRows();
  case Isa::V3:
    return x86v3::attentionRows();
  case Isa::V1:
    break;
  }
  return x86v1::attentionRows();
}

namespace {

/// A block of queries and the products it takes; null where it sees no key.
struct Block {
  int64_t firstQuery, rows, keys;
  const Matmul *scores = nullptr;    // Q K^T
  const Matmul *weighted = nullptr;  // P V, and dS K
  const Matmul *onKeys = nullptr;    // dV and dK: P^T dO, dS^T Q, adding
  const Matmul *onAllKeys = nullptr; // the same, overwriting
};

class AttentionOperation final : public Operation {
public:
  explicit AttentionOperation(const AttentionTask &task)
      : task(task), s(task.shape), scoreStride(attentionScoreStride(s.kvLen)),
        qRow(s.heads * s.headDim), kvRow(s.kvHeads * s.headDim),
        rowsOf(attentionRows()) {}

  Status prepare(DnnContext &context) {
    int64_t rows = attentionQueryBlock(s);
    for (int64_t first = 0; first < s.qLen; first += rows) {
      Block block = {first, std::min(rows, s.qLen - first), 0};
      block.keys = roundKeys(visibleKeys(first + block.rows - 1));
      if (block.keys > 0)
        STRETTO_TRY(prepare(context, block));
      blocks.push_back(block);
    }
    return Status::ok();
  }

  void launch(void *const *buffers, const int64_t *scalars) override {
    if (task.dropout > 0)
      startDropout(scalars);
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h) {
        dropout.element = task.dropout > 0 ? firstElement(scalars, b, h) : 0;
        if (s.backward)
          backward(buffers, b, h);
        else
          forward(buffers, b, h);
      }
  }

private:
  /// Keys that a query sees: 0 .. i + (kvLen - qLen) under a causal mask.
  int64_t visibleKeys(int64_t query) const {
    if (!s.causal)
      return s.kvLen;
    return std::clamp<int64_t>(query + s.kvLen - s.qLen + 1, 0, s.kvLen);
  }

  /// Up to 16 different extents, so that long sequences do not need a primitive
  /// for each block.
  int64_t roundKeys(int64_t keys) const {
    int64_t step = attentionRoundUp((s.kvLen + 15) / 16, 64);
    return std::min<int64_t>(attentionRoundUp(keys, step), s.kvLen);
  }

  Status prepare(DnnContext &context, Block &block) {
    int64_t rows = block.rows, keys = block.keys, d = s.headDim;
    STRETTO_ASSIGN(block.scores, context.matmul({rows, keys, d, qRow, 1, 1,
                                                 kvRow, scoreStride, false}));
    STRETTO_ASSIGN(block.weighted, context.matmul({rows, d, keys, scoreStride,
                                                   1, kvRow, 1, qRow, false}));
    if (!s.backward)
      return Status::ok();
    STRETTO_ASSIGN(block.onKeys, context.matmul({keys, d, rows, 1, scoreStride,
                                                 qRow, 1, kvRow, true}));
    STRETTO_ASSIGN(
        block.onAllKeys,
        context.matmul({keys, d, rows, 1, scoreStride, qRow, 1, kvRow, false}));
    return Status::ok();
  }

  void startDropout(const int64_t *scalars) {
    dropout.active = true;
    dropout.key = static_cast<uint64_t>(scalars[0]);
    dropout.opId = task.opId;
    dropout.threshold = random::dropoutThreshold(task.dropout);
    dropout.keptScale = static_cast<float>(1.0 / (1.0 - task.dropout));
  }

  /// Counter of the logical element [batch, head, 0, 0].
  uint64_t firstElement(const int64_t *scalars, int64_t b, int64_t h) const {
    uint64_t head = uint64_t(scalars[1]) + uint64_t(h);
    uint64_t sample = uint64_t(scalars[2]) + uint64_t(b);
    return (sample * uint64_t(task.headsGlobal) + head) * uint64_t(s.qLen) *
           uint64_t(s.kvLen);
  }
  RowDropout dropoutOf(int64_t query) const {
    RowDropout row = dropout;
    row.element += uint64_t(query) * uint64_t(s.kvLen);
    return row;
  }

  int64_t queryOffset(int64_t b, int64_t query, int64_t h) const {
    return (b * s.qLen + query) * qRow + h * s.headDim;
  }
  int64_t keyOffset(int64_t b, int64_t h) const {
    return b * s.kvLen * kvRow + h / (s.heads / s.kvHeads) * s.headDim;
  }

  void forward(void *const *buffers, int64_t b, int64_t h) {
    const float *k = floats(buffers[1]) + keyOffset(b, h);
    const float *v = floats(buffers[2]) + keyOffset(b, h);
    float *scores = floats(buffers[5]);
    for (const Block &block : blocks) {
      int64_t offset = queryOffset(b, block.firstQuery, h);
      float *out = floats(buffers[3]) + offset;
      float *lse = floats(buffers[4]) + (b * s.heads + h) * s.qLen;
      if (block.keys == 0) {
        clearRows(out, block.rows);
        std::fill_n(lse + block.firstQuery, block.rows, minusInfinity);
        continue;
      }
      block.scores->run(floats(buffers[0]) + offset, k, scores);
      softmax(block, scores, lse);
      block.weighted->run(scores, v, out);
      for (int64_t i = 0; i < block.rows; ++i)
        rowsOf.scaleRow(out + i * qRow, s.headDim, inverseSums[i]);
    }
  }

  /// Leaves exponentials in the scores and the reciprocals of their sums in
  /// inverseSums.
  void softmax(const Block &block, float *scores, float *lse) {
    for (int64_t i = 0; i < block.rows; ++i) {
      int64_t query = block.firstQuery + i, valid = visibleKeys(query);
      float max = 0;
      float sum =
          rowsOf.exponentiate(scores + i * scoreStride, valid, block.keys,
                              float(task.scale), dropoutOf(query), max);
      lse[query] = valid > 0 ? max + std::log(sum) : minusInfinity;
      inverseSums[i] = valid > 0 ? 1 / sum : 0;
    }
  }

  void backward(void *const *buffers, int64_t b, int64_t h) {
    const float *k = floats(buffers[1]) + keyOffset(b, h);
    const float *v = floats(buffers[2]) + keyOffset(b, h);
    float *dk = floats(buffers[7]) + keyOffset(b, h);
    float *dv = floats(buffers[8]) + keyOffset(b, h);
    float *scores = floats(buffers[9]);
    float *gradients = scores + attentionQueryBlock(s) * scoreStride;
    bool isFirst = h % (s.heads / s.kvHeads) == 0; // of those that add to dK
    for (size_t i = blocks.size(); i-- > 0;) {
      const Block &block = blocks[i];
      int64_t offset = queryOffset(b, block.firstQuery, h);
      const float *q = floats(buffers[0]) + offset;
      const float *out = floats(buffers[3]) + offset;
      const float *lse = floats(buffers[4]) + (b * s.heads + h) * s.qLen;
      const float *dout = floats(buffers[5]) + offset;
      float *dq = floats(buffers[6]) + offset;
      if (block.keys == 0) {
        clearRows(dq, block.rows);
        continue;
      }
      block.scores->run(q, k, scores);
      block.scores->run(dout, v, gradients);
      softmaxBackward(block, scores, gradients, lse, out, dout);
      const Matmul *onKeys = isFirst ? block.onAllKeys : block.onKeys;
      onKeys->run(scores, dout, dv);
      onKeys->run(gradients, q, dk);
      block.weighted->run(gradients, k, dq);
      isFirst = false;
    }
  }

  void softmaxBackward(const Block &block, float *scores, float *gradients,
                       const float *lse, const float *out, const float *dout) {
    for (int64_t i = 0; i < block.rows; ++i) {
      int64_t query = block.firstQuery + i;
      float delta = rowsOf.dot(out + i * qRow, dout + i * qRow, s.headDim);
      rowsOf.differentiate(scores + i * scoreStride,
                           gradients + i * scoreStride, visibleKeys(query),
                           block.keys, float(task.scale), lse[query], delta,
                           dropoutOf(query));
    }
  }

  static float *floats(void *buffer) { return static_cast<float *>(buffer); }
  void clearRows(float *rows, int64_t count) const {
    for (int64_t i = 0; i < count; ++i)
      std::memset(rows + i * qRow, 0, size_t(s.headDim) * sizeof(float));
  }

  static constexpr float minusInfinity =
      -std::numeric_limits<float>::infinity();

  AttentionTask task;
  AttentionShape s;
  int64_t scoreStride;
  int64_t qRow, kvRow; // elements between positions of a sequence
  const AttentionRows &rowsOf;
  std::vector<Block> blocks;
  RowDropout dropout;
  float inverseSums[128]; // at least the rows of a block
};

} // namespace

Result<std::unique_ptr<Operation>>
prepareAttentionOperation(DnnContext &context, const AttentionTask &task) {
  auto operation = std::make_unique<AttentionOperation>(task);
  STRETTO_TRY(operation->prepare(context));
  return std::unique_ptr<Operation>(std::move(operation));
}

} // namespace stretto::runtime
