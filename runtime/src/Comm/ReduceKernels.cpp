//===- ReduceKernels.cpp - vectorised reductions --------------------------===//
//
// Compiled once for each instruction set level (STRETTO_ISA_NAMESPACE). Plain
// loops that the compiler vectorises; no function of a standard header may be
// used here, as its copy for a newer processor could be linked into the rest.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

/// Elements summed at a time: 4 or 8 KiB, within the L1 cache.
constexpr int64_t block = 1024;

template <typename T> struct Plain {
  using Stored = T;
  using Wide = T;
  static Wide widen(Stored x) { return x; }
  static Stored narrow(Wide x) { return x; }
};

struct BFloat {
  using Stored = uint16_t;
  using Wide = float;
  static Wide widen(Stored x) {
    uint32_t bits = uint32_t(x) << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  }
  /// Round to nearest, ties to even; NaN stays NaN.
  static Stored narrow(Wide x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40u;
    return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
};

struct Sum {
  template <typename T> static T of(T a, T b) { return a + b; }
};
struct Prod {
  template <typename T> static T of(T a, T b) { return a * b; }
};
struct Max {
  template <typename T> static T of(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Min {
  template <typename T> static T of(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

template <typename Type, typename Op>
void reduce(void *target, const void *const *sources, int64_t n,
            int64_t count) {
  using Stored = typename Type::Stored;
  using Wide = typename Type::Wide;
  alignas(64) Wide total[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t length = count - begin < block ? count - begin : block;
    const Stored *first = static_cast<const Stored *>(sources[0]) + begin;
    for (int64_t i = 0; i < length; ++i)
      total[i] = Type::widen(first[i]);
    for (int64_t j = 1; j < n; ++j) {
      const Stored *next = static_cast<const Stored *>(sources[j]) + begin;
      for (int64_t i = 0; i < length; ++i)
        total[i] = Op::of(total[i], Type::widen(next[i]));
    }
    Stored *result = static_cast<Stored *>(target) + begin;
    for (int64_t i = 0; i < length; ++i)
      result[i] = Type::narrow(total[i]);
  }
}

// Sums and products of integers wrap, so they are taken unsigned.
template <typename Type, typename Modular>
constexpr void setRow(ReduceFn (&row)[4]) {
  row[int(program::ReduceKind::Sum)] = reduce<Modular, Sum>;
  row[int(program::ReduceKind::Max)] = reduce<Type, Max>;
  row[int(program::ReduceKind::Min)] = reduce<Type, Min>;
  row[int(program::ReduceKind::Prod)] = reduce<Modular, Prod>;
}

constexpr ReduceTable makeTable() {
  ReduceTable table = {};
  setRow<Plain<float>, Plain<float>>(table.functions[0]);
  setRow<Plain<double>, Plain<double>>(table.functions[1]);
  setRow<BFloat, BFloat>(table.functions[2]);
  setRow<Plain<int32_t>, Plain<uint32_t>>(table.functions[3]);
  setRow<Plain<int64_t>, Plain<uint64_t>>(table.functions[4]);
  return table;
}

constexpr ReduceTable table = makeTable();

} // namespace

const ReduceTable &reduceTable() { return table; }

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE
