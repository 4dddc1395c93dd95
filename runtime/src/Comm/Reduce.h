//===- Reduce.h - sums in member order --------------------------*- C++ -*-===//
//
// The arithmetic of collectives, apart from how bytes move: every engine adds
// the members' contributions with these functions, in member order, so all
// engines give the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_COMM_REDUCE_H
#define STRETTO_RUNTIME_COMM_REDUCE_H

#include "stretto/Runtime/Program_generated.h"

#include <cstdint>

namespace stretto::runtime {

/// target[i] = ((s0[i] + s1[i]) + s2[i]) + ... over `n` sources of `count`
/// elements each. The target may be one of the sources. BF16 accumulates in f32
/// and rounds once. Max and Min give NaN when any contribution is NaN.
using ReduceFn = void (*)(void *target, const void *const *sources, int64_t n,
                          int64_t count);

/// Null when the reduction is not defined on the type.
ReduceFn findReduce(program::DType dtype, program::ReduceKind kind);

/// Functions of one instruction set level, by [type][kind]; types in the order
/// F32, F64, BF16, I32, I64.
struct ReduceTable {
  ReduceFn functions[5][4];
};
namespace x86v1 {
const ReduceTable &reduceTable();
}
namespace x86v3 {
const ReduceTable &reduceTable();
}
namespace x86v4 {
const ReduceTable &reduceTable();
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_COMM_REDUCE_H
