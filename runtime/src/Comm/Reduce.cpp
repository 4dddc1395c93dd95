//===- Reduce.cpp - choice of the reduction function ----------------------===//

#include "Reduce.h"

#include "stretto/Runtime/Isa.h"

namespace stretto::runtime {

static const ReduceTable &bestTable() {
  switch (hostIsa()) {
  case Isa::V4:
    return x86v4::reduceTable();
  case Isa::V3:
    return x86v3::reduceTable();
  case Isa::V1:
    break;
  }
  return x86v1::reduceTable();
}

ReduceFn findReduce(program::DType dtype, program::ReduceKind kind) {
  int row = -1;
  switch (dtype) {
  case program::DType::F32:
    row = 0;
    break;
  case program::DType::F64:
    row = 1;
    break;
  case program::DType::BF16:
    row = 2;
    break;
  case program::DType::I32:
    row = 3;
    break;
  case program::DType::I64:
    row = 4;
    break;
  default:
    break;
  }
  if (row < 0 || kind > program::ReduceKind::MAX)
    return nullptr;
  return bestTable().functions[row][static_cast<int>(kind)];
}

} // namespace stretto::runtime
