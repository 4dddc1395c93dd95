//===- Device.cpp - descriptions of work ----------------------------------===//

#include "stretto/Runtime/Device.h"

namespace stretto::runtime {

static std::vector<int64_t> toVector(const flatbuffers::Vector<int64_t> *list) {
  return list ? std::vector<int64_t>(list->begin(), list->end())
              : std::vector<int64_t>();
}

GemmShape GemmShape::of(const program::Gemm &gemm) {
  GemmShape shape;
  shape.m = gemm.m();
  shape.n = gemm.n();
  shape.k = gemm.k();
  shape.aRow = gemm.a_row();
  shape.aCol = gemm.a_col();
  shape.bRow = gemm.b_row();
  shape.bCol = gemm.b_col();
  shape.cRow = gemm.c_row();
  shape.cCol = gemm.c_col();
  shape.batch = toVector(gemm.batch());
  shape.aBatch = toVector(gemm.a_batch());
  shape.bBatch = toVector(gemm.b_batch());
  shape.cBatch = toVector(gemm.c_batch());
  shape.accumulate = gemm.accumulate();
  shape.dtype = gemm.dtype();
  shape.cType = gemm.c_dtype();
  return shape;
}

AttentionTask AttentionTask::of(const program::Attention &attention) {
  AttentionTask task;
  task.shape = {attention.backward(),
                attention.batch(),
                attention.q_len(),
                attention.kv_len(),
                attention.heads(),
                attention.kv_heads(),
                attention.head_dim(),
                attention.causal(),
                attention.dtype() == program::DType::BF16};
  task.scale = attention.scale();
  task.dropout = attention.dropout();
  task.opId = attention.op_id();
  task.headsGlobal = attention.heads_global();
  task.queries = attention.queries() ? attention.queries() : attention.q_len();
  task.keys = attention.keys() ? attention.keys() : attention.kv_len();
  task.blocks = attention.blocks();
  return task;
}

} // namespace stretto::runtime
