//===- Attention.cpp - exact attention, block by block --------------------===//
//
// For one head and one block of queries, with S = scale Q K^T, P = softmax(S),
// and P' = P after dropout (m is the dropout factor):
//
//   forward   O = P' V,  lse = log sum exp S
//   backward  D = rowsum(dO * O),  dP' = dO V^T,  dS = P (m dP' - D) scale,
//             dV += P'^T dO,  dQ = dS K,  dK += dS^T Q
//
// (Dao et al., FlashAttention-2, 2023, algorithms 1 and 2.) A block of scores
// holds all keys that its last query sees, so the softmax is exact in one go.
// Scores are kept transposed, [key, query]: the softmax is then vectorised over
// queries, every product reads K, V, Q and dO in place, and only the block of Q
// (and dO) is transposed before. Of the products, what the causal mask makes
// zero is left out tile by tile. Blocks are taken from the last to the first:
// the first product into dK and dV overwrites (and clears the keys that it does
// not see), the others add.
//
// On shards of the positions masks and dropout go by global positions; queries
// past the end see nothing and give zeros, keys past the end are seen by none.
// The forward may take the keys in blocks, one after the other, each with
// results of its own.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "AttentionSoftmax.h"
#include "TileGemm.h"

#include "stretto/Runtime/Isa.h"
#include "stretto/Runtime/Random.h"

#include <algorithm>
#include <cmath>

namespace stretto::runtime {

const AttentionSoftmax &attentionSoftmax() {
  switch (hostIsa()) {
  case Isa::V4:
    return x86v4::attentionSoftmax();
  case Isa::V3:
    return x86v3::attentionSoftmax();
  case Isa::V1:
    break;
  }
  return x86v1::attentionSoftmax();
}

namespace {

/// The operands of the schema, as floats.
struct AttentionBuffers {
  const float *q, *k, *v;
  float *out, *lse; // read-only in backward
  const float *dout = nullptr;
  float *dq = nullptr, *dk = nullptr, *dv = nullptr;
  float *workspace;

  AttentionBuffers(void *const *buffers, bool backward) {
    auto at = [&](int i) { return static_cast<float *>(buffers[i]); };
    q = at(0), k = at(1), v = at(2), out = at(3), lse = at(4);
    if (backward)
      dout = at(5), dq = at(6), dk = at(7), dv = at(8);
    workspace = at(backward ? 9 : 5);
  }
};

/// One block of queries of one head: where everything starts.
struct Block {
  int64_t firstQuery, queries;
  int64_t keys; // that the last query sees
  int64_t queryOffset, keyOffset, lseOffset;
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

class AttentionOperation final : public Operation {
public:
  explicit AttentionOperation(const AttentionTask &described)
      : task(described), s(task.shape), stride(attentionQueryBlock(s)),
        qRow(s.heads * s.headDim), kvRow(s.kvHeads * s.headDim),
        softmax(attentionSoftmax()), multiply(tileGemm()) {
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
    const AttentionBuffers buffers(operands, s.backward);
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

private:
  void launch(const AttentionBuffers &buffers, const int64_t *scalars) {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = (s.qLen - 1) / stride; i >= 0; --i) {
          Block block = makeBlock(b, h, i * stride, scalars);
          s.backward ? backward(buffers, block, overwrites(block, h))
                     : forward(buffers, block);
        }
  }

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
    block.keyOffset = (b * s.kvLen + keys.begin) * kvRow +
                      h / (s.heads / s.kvHeads) * s.headDim;
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

  /// The first block of the first query head that shares a key/value head.
  bool overwrites(const Block &block, int64_t h) const {
    return h % (s.heads / s.kvHeads) == 0 &&
           block.firstQuery + block.queries == s.qLen;
  }

  /// Query c of the block sees key j when j - c < this.
  int64_t diagonal(const Block &block) const {
    return s.causal ? diagonalOf(block.firstQuery) : TileGemm::nothing;
  }

  /// scores[key, query] = keys * queries, both of head_dim; `transposed` has
  /// the queries as columns.
  void score(const Block &block, const float *keys, const float *transposed,
             float *scores) const {
    TileGemm product = {keys,   kvRow,  1,          transposed, stride,
                        scores, stride, block.keys, stride,     s.headDim};
    product.firstColumn = 1 - diagonal(block);
    multiply(product);
  }

  /// out[query, :] = sum over keys of scores[key, query] * keys[key, :].
  void weigh(const Block &block, const float *scores, const float *keys,
             float *out, const float *rowScale) const {
    TileGemm product = {scores, 1,    stride,        keys,      kvRow,
                        out,    qRow, block.queries, s.headDim, block.keys};
    product.rowScale = rowScale;
    product.endTerm = diagonal(block) - 1;
    multiply(product);
  }

  /// out[key, :] (+)= sum over queries of scores[key, query] * queries[query,
  /// :].
  void spread(const Block &block, const float *scores, const float *queries,
              float *out, bool overwrite) const {
    TileGemm product = {scores, stride, 1,          queries,   qRow,
                        out,    kvRow,  block.keys, s.headDim, block.queries};
    product.accumulate = !overwrite;
    product.firstTerm = 1 - diagonal(block);
    multiply(product);
  }

  void forward(const AttentionBuffers &buffers, const Block &block) {
    float *transposed = buffers.workspace;
    float *scores = transposed + s.headDim * stride;
    softmax.transpose(buffers.q + block.queryOffset, qRow, block.queries,
                      s.headDim, transposed, stride);
    score(block, buffers.k + block.keyOffset, transposed, scores);
    forEachVector(block, scores, [&](auto &columns, int64_t query) {
      softmax.exponentiate(columns, first + query, second + query);
    });
    float *lse = buffers.lse + block.lseOffset;
    for (int64_t i = 0; i < block.queries; ++i) {
      lse[i] = first[i] + std::log(second[i]); // minus infinity without a key
      if (isPadding(block.firstQuery + i))
        lse[i] = 0;
      second[i] = second[i] == 0 ? 0 : 1 / second[i];
    }
    weigh(block, scores, buffers.v + block.keyOffset,
          buffers.out + block.outOffset, second);
  }

  void backward(const AttentionBuffers &buffers, const Block &block,
                bool overwrite) {
    const float *q = buffers.q + block.queryOffset;
    const float *k = buffers.k + block.keyOffset;
    const float *dout = buffers.dout + block.queryOffset;
    float *transposed = buffers.workspace;
    float *scores = transposed + s.headDim * stride;
    float *gradients = scores + s.kvLen * stride;
    softmax.transpose(q, qRow, block.queries, s.headDim, transposed, stride);
    score(block, k, transposed, scores);
    transposed = gradients + s.kvLen * stride;
    softmax.transpose(dout, qRow, block.queries, s.headDim, transposed, stride);
    score(block, buffers.v + block.keyOffset, transposed, gradients);
    loadRows(buffers, block);
    forEachVector(block, scores, [&](auto &columns, int64_t query) {
      softmax.differentiate(columns, gradients + query, first + query,
                            second + query);
    });
    if (overwrite) {
      clearUnseen(block, buffers.dv + block.keyOffset);
      clearUnseen(block, buffers.dk + block.keyOffset);
    }
    spread(block, scores, dout, buffers.dv + block.keyOffset, overwrite);
    spread(block, gradients, q, buffers.dk + block.keyOffset, overwrite);
    weigh(block, gradients, k, buffers.dq + block.outOffset, nullptr);
  }

  /// Zeros for the keys that the block does not see.
  void clearUnseen(const Block &block, float *gradient) const {
    for (int64_t key = block.keys; key < s.kvLen; ++key)
      std::fill_n(gradient + key * kvRow, s.headDim, 0.0f);
  }

  /// lse into `first`, delta into `second`.
  void loadRows(const AttentionBuffers &buffers, const Block &block) {
    const float *out = buffers.out + block.queryOffset;
    const float *dout = buffers.dout + block.queryOffset;
    for (int64_t i = 0; i < stride; ++i) {
      bool isQuery = i < block.queries;
      first[i] = isQuery ? buffers.lse[block.lseOffset + i] : 0;
      second[i] =
          isQuery ? softmax.dot(out + i * qRow, dout + i * qRow, s.headDim) : 0;
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
  TileGemmFn multiply;
  AttentionDropout dropout;
  static constexpr int64_t mostPositions = int64_t(1) << 40;
  int64_t firstQuery = 0; // position of query 0 among all
  KeyBlock keys;
  // One value for each query of a block.
  alignas(64) float first[64];
  alignas(64) float second[64];
};

} // namespace

std::unique_ptr<Operation> makeAttentionOperation(const AttentionTask &task) {
  return std::make_unique<AttentionOperation>(task);
}

} // namespace stretto::runtime
