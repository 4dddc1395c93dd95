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
// the last one sees every key, so the first product into dK and dV overwrites
// and the others add.
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
  uint64_t element; // dropout counter of (firstQuery, key 0)
};

class AttentionOperation final : public Operation {
public:
  explicit AttentionOperation(const AttentionTask &task)
      : task(task), s(task.shape), stride(attentionQueryBlock(s)),
        qRow(s.heads * s.headDim), kvRow(s.kvHeads * s.headDim),
        softmax(attentionSoftmax()), multiply(tileGemm()) {
    dropout.active = task.dropout > 0;
    dropout.opId = task.opId;
    dropout.perQuery = uint64_t(s.kvLen);
    dropout.threshold = random::dropoutThreshold(task.dropout);
    dropout.keptScale = float(1.0 / (1.0 - task.dropout));
  }

  void launch(void *const *operands, const int64_t *scalars) override {
    const AttentionBuffers buffers(operands, s.backward);
    dropout.key = uint64_t(scalars[0]);
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = (s.qLen - 1) / stride; i >= 0; --i) {
          Block block = makeBlock(b, h, i * stride, scalars);
          s.backward ? backward(buffers, block, overwrites(block, h))
                     : forward(buffers, block);
        }
  }

private:
  /// Keys that a query sees: 0 .. i + (kvLen - qLen) under a causal mask.
  int64_t visibleKeys(int64_t query) const {
    if (!s.causal)
      return s.kvLen;
    return std::clamp<int64_t>(query + s.kvLen - s.qLen + 1, 0, s.kvLen);
  }

  Block makeBlock(int64_t b, int64_t h, int64_t first,
                  const int64_t *scalars) const {
    Block block;
    block.firstQuery = first;
    block.queries = std::min(stride, s.qLen - first);
    block.keys = visibleKeys(first + block.queries - 1);
    block.queryOffset = (b * s.qLen + first) * qRow + h * s.headDim;
    block.keyOffset =
        b * s.kvLen * kvRow + h / (s.heads / s.kvHeads) * s.headDim;
    block.lseOffset = (b * s.heads + h) * s.qLen + first;
    uint64_t head = uint64_t(scalars[1]) + uint64_t(h);
    uint64_t sample = uint64_t(scalars[2]) + uint64_t(b);
    block.element =
        ((sample * uint64_t(task.headsGlobal) + head) * uint64_t(s.qLen) +
         uint64_t(first)) *
        uint64_t(s.kvLen);
    return block;
  }

  /// The first block of the first query head that shares a key/value head.
  bool overwrites(const Block &block, int64_t h) const {
    return h % (s.heads / s.kvHeads) == 0 &&
           block.firstQuery + block.queries == s.qLen;
  }

  /// Query c of the block sees key j when j - c < this.
  int64_t diagonal(const Block &block) const {
    return s.causal ? block.firstQuery + s.kvLen - s.qLen + 1
                    : TileGemm::nothing;
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
      second[i] = second[i] == 0 ? 0 : 1 / second[i];
    }
    weigh(block, scores, buffers.v + block.keyOffset,
          buffers.out + block.queryOffset, second);
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
    spread(block, scores, dout, buffers.dv + block.keyOffset, overwrite);
    spread(block, gradients, q, buffers.dk + block.keyOffset, overwrite);
    weigh(block, gradients, k, buffers.dq + block.queryOffset, nullptr);
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
          block.element + uint64_t(query) * uint64_t(s.kvLen);
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
  // One value for each query of a block.
  alignas(64) float first[64];
  alignas(64) float second[64];
};

} // namespace

std::unique_ptr<Operation> makeAttentionOperation(const AttentionTask &task) {
  return std::make_unique<AttentionOperation>(task);
}

} // namespace stretto::runtime
