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

#include "AttentionBlocks.h"

#include "stretto/Runtime/Isa.h"

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

template <typename T>
class WideAttention final : public AttentionBlocks<WideAttention<T>, T> {
  using Base = AttentionBlocks<WideAttention<T>, T>;

public:
  using Base::Base;

private:
  friend Base;
  using Base::clearUnseen, Base::diagonal, Base::finishRows,
      Base::forEachVector;
  using Base::first, Base::keys, Base::kvRow, Base::qRow, Base::s, Base::second,
      Base::softmax, Base::stride;

  struct Head {
    Rows k, v, dk, dv;
  };

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
  // Products and blocks
  //===--------------------------------------------------------------------===//

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
    finishRows(buffers.lse + block.lseOffset, block);
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

  TileGemmFn multiply = tileGemm();
};

} // namespace

std::unique_ptr<Operation> makeAttentionOperation(const AttentionTask &task) {
  if (task.shape.bf16 && canPairAttention(task))
    return makePairAttention(task);
  if (task.shape.bf16)
    return std::make_unique<WideAttention<Bf16>>(task);
  return std::make_unique<WideAttention<float>>(task);
}

} // namespace stretto::runtime
