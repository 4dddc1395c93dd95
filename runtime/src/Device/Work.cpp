//===- Work.cpp - what library calls do, and their names ------------------===//

#include "stretto/Runtime/Work.h"

namespace stretto::runtime {

double flopsOf(const AttentionTask &task) {
  const AttentionShape &s = task.shape;
  double pairs = double(s.qLen) * double(s.kvLen);
  double queries = double(task.queries), keys = double(task.keys);
  if (s.causal && keys >= queries)
    pairs *= 1 - (queries - 1) / (2 * keys);
  double products = s.backward ? 5 : 2;
  return 2 * products * pairs * double(s.batch * s.heads * s.headDim);
}

double flopsOf(const GemmShape &s) {
  double flops = 2.0 * double(s.m) * double(s.n) * double(s.k);
  for (int64_t extent : s.batch)
    flops *= double(extent);
  return flops;
}

std::string nameOf(const GemmShape &s) {
  std::string name = concat(s.m, "x", s.n, "x", s.k);
  for (size_t i = 0; i < s.batch.size(); ++i)
    name += concat(i ? "x" : " batch ", s.batch[i]);
  if (s.dtype != program::DType::F32)
    name += concat(" ", program::EnumNameDType(s.dtype), " to ",
                   program::EnumNameDType(s.cType));
  return s.accumulate ? name + " +=" : name;
}

std::string nameOf(const AttentionTask &task) {
  const AttentionShape &s = task.shape;
  return concat(s.backward ? "backward" : "forward", " b", s.batch, " h",
                s.heads, "/", s.kvHeads, " q", s.qLen, " k", s.kvLen, " d",
                s.headDim, s.causal ? " causal" : "", s.bf16 ? " bf16" : "");
}

} // namespace stretto::runtime
