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
// Memory in bf16 is staged: keys and values of a head, and the rows of a block
// of queries, are widened to f32 in the workspace before, gradients of keys and
// values summed there over all queries and heads that share them; results are
// rounded once. All that is computed is f32.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "AttentionSoftmax.h"
#include "TileGemm.h"

#include "stretto/Runtime/Isa.h"
#include "stretto/Runtime/Random.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

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

/// What the blocks of queries of one head share. In backward dk and dv live
/// until the last head that shares them.
struct Head {
  Rows k, v, dk, dv;
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

template <typename T> class AttentionOperation final : public Operation {
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

private:
  void launch(const AttentionBuffers<T> &buffers, const int64_t *scalars) {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h) {
        int64_t keyOffset =
            (b * s.kvLen + keys.begin) * kvRow + h / headsPerKey() * s.headDim;
        bool isFirst = h % headsPerKey() == 0;
        Head head = headAt(buffers, keyOffset, isFirst);
        for (int64_t i = (s.qLen - 1) / stride; i >= 0; --i) {
          Block block = makeBlock(b, h, i * stride, scalars);
          bool overwrite =
              isFirst && block.firstQuery + block.queries == s.qLen;
          s.backward ? backward(buffers, head, block, overwrite)
                     : forward(buffers, head, block);
        }
        if (s.backward && (h + 1) % headsPerKey() == 0)
          finish(head, buffers, keyOffset);
      }
  }

  int64_t headsPerKey() const { return s.heads / s.kvHeads; }

  //===--------------------------------------------------------------------===//
  // Staging: in place where memory is f32
  //===--------------------------------------------------------------------===//

  float *stagedKeys(const AttentionBuffers<T> &buffers, int64_t index) const {
    int64_t scores = (s.headDim + s.kvLen) * stride * (s.backward ? 2 : 1);
    return buffers.workspace + scores + index * s.kvLen * s.headDim;
  }
  float *stagedQueries(const AttentionBuffers<T> &buffers,
                       int64_t index) const {
    return stagedKeys(buffers, AttentionStaging::of(s).keys) +
           index * stride * s.headDim;
  }

  Rows rowsOf(const T *memory, int64_t row, float *staged) const {
    if constexpr (std::is_same_v<T, float>)
      return {const_cast<float *>(memory), row};
    else
      return {staged, s.headDim};
  }
  /// `fill`: widen what is in memory.
  Rows rowsOf(const T *memory, int64_t row, float *staged, int64_t count,
              bool fill = true) const {
    if constexpr (std::is_same_v<T, Bf16>)
      if (fill)
        softmax.widenRows(memory, row, count, s.headDim, staged);
    return rowsOf(memory, row, staged);
  }
  void roundTo(T *memory, int64_t row, const Rows &rows, int64_t count) const {
    if constexpr (std::is_same_v<T, Bf16>)
      softmax.narrowRows(rows.data, count, s.headDim, memory, row);
  }

  Head headAt(const AttentionBuffers<T> &buffers, int64_t offset,
              bool fill) const {
    Head head = {};
    head.k = rowsOf(buffers.k + offset, kvRow, stagedKeys(buffers, 0),
                    keys.count, fill);
    head.v = rowsOf(buffers.v + offset, kvRow, stagedKeys(buffers, 1),
                    keys.count, fill);
    if (s.backward) {
      head.dk = rowsOf(buffers.dk + offset, kvRow, stagedKeys(buffers, 2));
      head.dv = rowsOf(buffers.dv + offset, kvRow, stagedKeys(buffers, 3));
    }
    return head;
  }
  void finish(const Head &head, const AttentionBuffers<T> &buffers,
              int64_t offset) const {
    roundTo(buffers.dk + offset, kvRow, head.dk, s.kvLen);
    roundTo(buffers.dv + offset, kvRow, head.dv, s.kvLen);
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

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

  /// scores[key, query] = keys * queries, both of head_dim; `transposed` has
  /// the queries as columns.
  void score(const Block &block, const Rows &keys, const float *transposed,
             float *scores) const {
    TileGemm product = {keys.data, keys.stride, 1,      transposed,
                        stride,    scores,      stride, block.keys,
                        stride,    s.headDim};
    product.firstColumn = 1 - diagonal(block);
    multiply(product);
  }

  /// out[query, :] = sum over keys of scores[key, query] * keys[key, :].
  void weigh(const Block &block, const float *scores, const Rows &keys,
             const Rows &out, const float *rowScale) const {
    TileGemm product = {scores,      1,         stride,     keys.data,
                        keys.stride, out.data,  out.stride, block.queries,
                        s.headDim,   block.keys};
    product.rowScale = rowScale;
    product.endTerm = diagonal(block) - 1;
    multiply(product);
  }

  /// out[key, :] (+)= sum over queries of scores[key, query] * queries[query,
  /// :].
  void spread(const Block &block, const float *scores, const Rows &queries,
              const Rows &out, bool overwrite) const {
    TileGemm product = {scores,         stride,       1,          queries.data,
                        queries.stride, out.data,     out.stride, block.keys,
                        s.headDim,      block.queries};
    product.accumulate = !overwrite;
    product.firstTerm = 1 - diagonal(block);
    multiply(product);
  }

  void forward(const AttentionBuffers<T> &buffers, const Head &head,
               const Block &block) {
    float *transposed = buffers.workspace;
    float *scores = transposed + s.headDim * stride;
    Rows q = rowsOf(buffers.q + block.queryOffset, qRow,
                    stagedQueries(buffers, 0), block.queries);
    T *outMemory = buffers.out + block.outOffset;
    Rows out = rowsOf(outMemory, qRow, stagedQueries(buffers, 1));
    softmax.transpose(q.data, q.stride, block.queries, s.headDim, transposed,
                      stride);
    score(block, head.k, transposed, scores);
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
    weigh(block, scores, head.v, out, second);
    roundTo(outMemory, qRow, out, block.queries);
  }

  void backward(const AttentionBuffers<T> &buffers, const Head &head,
                const Block &block, bool overwrite) {
    Rows q = rowsOf(buffers.q + block.queryOffset, qRow,
                    stagedQueries(buffers, 0), block.queries);
    Rows dout = rowsOf(buffers.dout + block.queryOffset, qRow,
                       stagedQueries(buffers, 1), block.queries);
    float *transposed = buffers.workspace;
    float *scores = transposed + s.headDim * stride;
    float *gradients = scores + s.kvLen * stride;
    softmax.transpose(q.data, q.stride, block.queries, s.headDim, transposed,
                      stride);
    score(block, head.k, transposed, scores);
    transposed = gradients + s.kvLen * stride;
    softmax.transpose(dout.data, dout.stride, block.queries, s.headDim,
                      transposed, stride);
    score(block, head.v, transposed, gradients);
    loadRows(buffers, dout, block);
    forEachVector(block, scores, [&](auto &columns, int64_t query) {
      softmax.differentiate(columns, gradients + query, first + query,
                            second + query);
    });
    if (overwrite) {
      clearUnseen(block, head.dv);
      clearUnseen(block, head.dk);
    }
    spread(block, scores, dout, head.dv, overwrite);
    spread(block, gradients, q, head.dk, overwrite);
    T *target = buffers.dq + block.outOffset;
    Rows dq = rowsOf(target, qRow, stagedQueries(buffers, 2));
    weigh(block, gradients, head.k, dq, nullptr);
    roundTo(target, qRow, dq, block.queries);
  }

  /// Zeros for the keys that the block does not see.
  void clearUnseen(const Block &block, const Rows &gradient) const {
    for (int64_t key = block.keys; key < s.kvLen; ++key)
      std::fill_n(gradient.data + key * gradient.stride, s.headDim, 0.0f);
  }

  /// lse into `first`, delta into `second`.
  void loadRows(const AttentionBuffers<T> &buffers, const Rows &dout,
                const Block &block) {
    Rows out = rowsOf(buffers.out + block.queryOffset, qRow,
                      stagedQueries(buffers, 2), block.queries);
    for (int64_t i = 0; i < stride; ++i) {
      bool isQuery = i < block.queries;
      first[i] = isQuery ? buffers.lse[block.lseOffset + i] : 0;
      second[i] = isQuery ? softmax.dot(out.data + i * out.stride,
                                        dout.data + i * dout.stride, s.headDim)
                          : 0;
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
  if (task.shape.bf16)
    return std::make_unique<AttentionOperation<Bf16>>(task);
  return std::make_unique<AttentionOperation<float>>(task);
}

} // namespace stretto::runtime
