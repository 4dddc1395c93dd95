//===- PairAttention.cpp - attention by products of bf16 pairs ------------===//
//
// Attention.cpp on bf16 memory where the processor multiplies pairs of bf16. Q
// K^T and dO V^T read K and V in place: neighbouring numbers of head_dim are
// the pairs. For the other products probabilities and their gradients are
// rounded to bf16, in the place of the scores; softmax and all sums stay f32
// (as in FlashAttention on GPUs). V, and in backward K, Q and dO, are copied
// with the rows of a pair interleaved.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "AttentionBlocks.h"

#include "stretto/Runtime/Isa.h"

namespace stretto::runtime {

namespace {

/// Rows of pairs, as B of a product.
struct PairedRows {
  Bf16Pair *data;
};

class PairAttention final : public AttentionBlocks<PairAttention, Bf16> {
  using Buffers = AttentionBuffers<Bf16>;
  using Base = AttentionBlocks<PairAttention, Bf16>;

public:
  using Base::Base;

private:
  friend Base;

  struct Head {
    const Bf16 *k, *v;
    PairedRows paired; // v; in backward k
    Rows dk, dv;
  };

  /// The workspace behind the scores, in words of 4 bytes; see
  /// AttentionStaging.
  float *keyRows(const Buffers &buffers, int64_t index) const {
    int64_t scores = (s.headDim + s.kvLen) * stride * (s.backward ? 2 : 1);
    return buffers.workspace + scores + index * s.kvLen * s.headDim;
  }
  float *queryRows(const Buffers &buffers, int64_t index) const {
    return keyRows(buffers, AttentionStaging::of(s).keys) +
           index * stride * s.headDim;
  }
  static Bf16Pair *pairs(float *words) {
    return reinterpret_cast<Bf16Pair *>(words);
  }
  static const Bf16Pair *pairs(const Bf16 *numbers) {
    return reinterpret_cast<const Bf16Pair *>(numbers);
  }

  Head headAt(const Buffers &buffers, int64_t offset, bool isFirst) const {
    Head head = {};
    head.k = buffers.k + offset;
    head.v = buffers.v + offset;
    head.paired.data = pairs(keyRows(buffers, 0));
    if (isFirst)
      softmax.pairRowsBf16(s.backward ? head.k : head.v, kvRow, keys.count,
                           s.headDim, head.paired.data);
    if (s.backward) {
      head.dk = {keyRows(buffers, 2), s.headDim};
      head.dv = {keyRows(buffers, 3), s.headDim};
    }
    return head;
  }
  void finish(const Head &head, const Buffers &buffers, int64_t offset) const {
    softmax.narrowRows(head.dk.data, s.kvLen, s.headDim, buffers.dk + offset,
                       kvRow);
    softmax.narrowRows(head.dv.data, s.kvLen, s.headDim, buffers.dv + offset,
                       kvRow);
  }

  /// A block of rows of q or dout: pairs of head_dim as rows, queries as
  /// columns.
  void transpose(const Block &block, const Bf16 *rows, float *to) const {
    softmax.transpose(reinterpret_cast<const float *>(rows), qRow / 2,
                      block.queries, s.headDim / 2, to, stride);
  }

  /// scores[key, query] = keys * queries.
  void score(const Block &block, const Bf16 *keyRows, float *transposed,
             float *scores) const {
    TilePairs product = {
        pairs(keyRows), kvRow / 2,  1,      pairs(transposed), stride, scores,
        stride,         block.keys, stride, s.headDim / 2};
    product.firstColumn = 1 - diagonal(block);
    tilePairs(product);
  }

  /// out[query, :] = sum over keys of scores[key, query] * keys[key, :]; rows
  /// of the scores are pairs of keys, two rows apart.
  void weigh(const Block &block, const float *scores, const PairedRows &keyRows,
             const Rows &out, const float *rowScale) const {
    TilePairs product = {reinterpret_cast<const Bf16Pair *>(scores),
                         1,
                         2 * stride,
                         keyRows.data,
                         s.headDim,
                         out.data,
                         out.stride,
                         block.queries,
                         s.headDim,
                         (block.keys + 1) / 2};
    product.rowScale = rowScale;
    product.endTerm = diagonal(block) - 1;
    tilePairs(product);
  }

  /// out[key, :] (+)= sum over queries of scores[key, query] * queries[query,
  /// :]; rows of the scores hold pairs of queries.
  void spread(const Block &block, const float *scores,
              const PairedRows &queries, const Rows &out,
              bool overwrite) const {
    TilePairs product = {reinterpret_cast<const Bf16Pair *>(scores),
                         stride,
                         1,
                         queries.data,
                         s.headDim,
                         out.data,
                         out.stride,
                         block.keys,
                         s.headDim,
                         (block.queries + 1) / 2};
    product.accumulate = !overwrite;
    product.firstTerm = 1 - diagonal(block);
    tilePairs(product);
  }

  /// Columns of scores that mean something, in whole vectors.
  static int64_t columnsOf(const Block &block) {
    return (block.queries + queriesPerVector - 1) / queriesPerVector *
           queriesPerVector;
  }

  void forward(const Buffers &buffers, const Head &head, const Block &block) {
    float *transposed = buffers.workspace;
    float *scores = transposed + s.headDim * stride;
    transpose(block, buffers.q + block.queryOffset, transposed);
    score(block, head.k, transposed, scores);
    forEachVector(block, scores, [&](auto &columns, int64_t query) {
      softmax.exponentiate(columns, first + query, second + query);
    });
    finishRows(buffers.lse + block.lseOffset, block);
    softmax.pairRows(scores, stride, block.keys, columnsOf(block),
                     pairs(scores), 2 * stride);
    Rows out = {queryRows(buffers, 0), s.headDim};
    weigh(block, scores, head.paired, out, second);
    softmax.narrowRows(out.data, block.queries, s.headDim,
                       buffers.out + block.outOffset, qRow);
  }

  void backward(const Buffers &buffers, const Head &head, const Block &block,
                bool overwrite) {
    const Bf16 *q = buffers.q + block.queryOffset;
    const Bf16 *dout = buffers.dout + block.queryOffset;
    float *scores = buffers.workspace + s.headDim * stride;
    float *gradients = scores + s.kvLen * stride;
    transpose(block, q, buffers.workspace);
    score(block, head.k, buffers.workspace, scores);
    float *transposed = gradients + s.kvLen * stride;
    transpose(block, dout, transposed);
    score(block, head.v, transposed, gradients);
    loadRows(buffers, block);
    forEachVector(block, scores, [&](auto &columns, int64_t query) {
      softmax.differentiate(columns, gradients + query, first + query,
                            second + query);
    });
    if (overwrite) {
      clearUnseen(block, head.dv);
      clearUnseen(block, head.dk);
    }
    // A row of pairs takes half a row of scores: gradients go to the other.
    float *gradientPairs = scores + stride / 2;
    int64_t columns = columnsOf(block);
    softmax.pairColumns(scores, stride, block.keys, columns, pairs(scores),
                        stride);
    softmax.pairColumns(gradients, stride, block.keys, columns,
                        pairs(gradientPairs), stride);
    softmax.pairRows(gradients, stride, block.keys, columns, pairs(gradients),
                     2 * stride);
    PairedRows rows = {pairs(queryRows(buffers, 0))};
    softmax.pairRowsBf16(dout, qRow, block.queries, s.headDim, rows.data);
    spread(block, scores, rows, head.dv, overwrite);
    softmax.pairRowsBf16(q, qRow, block.queries, s.headDim, rows.data);
    spread(block, gradientPairs, rows, head.dk, overwrite);
    Rows dq = {queryRows(buffers, 1), s.headDim};
    weigh(block, gradients, head.paired, dq, nullptr);
    softmax.narrowRows(dq.data, block.queries, s.headDim,
                       buffers.dq + block.outOffset, qRow);
  }

  /// lse into `first`, delta into `second`.
  void loadRows(const Buffers &buffers, const Block &block) {
    const Bf16 *out = buffers.out + block.queryOffset;
    const Bf16 *dout = buffers.dout + block.queryOffset;
    for (int64_t i = 0; i < stride; ++i) {
      bool isQuery = i < block.queries;
      first[i] = isQuery ? buffers.lse[block.lseOffset + i] : 0;
      second[i] =
          isQuery ? softmax.dotBf16(out + i * qRow, dout + i * qRow, s.headDim)
                  : 0;
    }
  }
};

} // namespace

bool canPairAttention(const AttentionTask &task) {
  return hostHasBf16() && task.shape.headDim % 2 == 0;
}

std::unique_ptr<Operation> makePairAttention(const AttentionTask &task) {
  return std::make_unique<PairAttention>(task);
}

} // namespace stretto::runtime
