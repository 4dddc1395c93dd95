//===- ReduceKernels.cpp - vectorised reductions --------------------------===//
//
// Compiled once for each instruction set level (STRETTO_ISA_NAMESPACE). A tile
// of elements stays in registers while all sources are added, so that memory is
// read and written once and bf16 is rounded once. No function of a standard
// header may be used here, as its copy for a newer processor could be linked
// into the rest.
//
//===----------------------------------------------------------------------===//

#include "Reduce.h"

#include "stretto/Runtime/Bf16.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

namespace {

// Registers of a tile: half of those there are, of 64 bytes or parts of that.
#if defined(__AVX512F__)
constexpr int vectors = 8;
#elif defined(__AVX2__)
constexpr int vectors = 4;
#else
constexpr int vectors = 2;
#endif

#if defined(__clang__)
#define STRETTO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define STRETTO_UNROLL _Pragma("GCC unroll 16")
#endif

/// 64 bytes of what is computed with.
template <typename T> struct Vector {
  typedef T Type __attribute__((vector_size(64)));
};

template <typename T> struct Plain {
  using Stored = T;
  using Wide = T;
  using Vec = typename Vector<T>::Type;
  static Wide widen(Stored x) { return x; }
  static Stored narrow(Wide x) { return x; }
  static Vec load(const Stored *from) {
    Vec value;
    __builtin_memcpy(&value, from, sizeof(value));
    return value;
  }
  static void store(Stored *to, Vec value) {
    __builtin_memcpy(to, &value, sizeof(value));
  }
};

struct BFloat {
  using Stored = Bf16;
  using Wide = float;
  using Vec = Vector<float>::Type;
  using Words = Vector<uint32_t>::Type;
  typedef uint16_t Halves __attribute__((vector_size(32)));

  static Wide widen(Stored x) { return runtime::widen(x); }
  static Stored narrow(Wide x) { return runtime::narrow(x); }
  static Vec load(const Stored *from) {
    Halves halves;
    __builtin_memcpy(&halves, from, sizeof(halves));
    return (Vec)(__builtin_convertvector(halves, Words) << 16);
  }
  /// As runtime::narrow.
  static void store(Stored *to, Vec value) {
    Words bits = (Words)value;
    Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    Words quiet = (bits >> 16) | 0x40u;
    Words isNaN = (Words)(value != value);
    Words chosen = (isNaN & quiet) | (~isNaN & rounded);
    Halves halves = __builtin_convertvector(chosen, Halves);
    __builtin_memcpy(to, &halves, sizeof(halves));
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
void reduceTile(typename Type::Stored *target, const void *const *sources,
                int64_t n, int64_t begin) {
  using Stored = typename Type::Stored;
  using Vec = typename Type::Vec;
  constexpr int64_t lanes = sizeof(Vec) / sizeof(typename Type::Wide);
  const Stored *first = static_cast<const Stored *>(sources[0]) + begin;
  Vec total[vectors];
  STRETTO_UNROLL
  for (int v = 0; v < vectors; ++v)
    total[v] = Type::load(first + v * lanes);
  for (int64_t j = 1; j < n; ++j) {
    const Stored *next = static_cast<const Stored *>(sources[j]) + begin;
    STRETTO_UNROLL
    for (int v = 0; v < vectors; ++v)
      total[v] = Op::of(total[v], Type::load(next + v * lanes));
  }
  STRETTO_UNROLL
  for (int v = 0; v < vectors; ++v)
    Type::store(target + begin + v * lanes, total[v]);
}

template <typename Type, typename Op>
void reduce(void *targetData, const void *const *sources, int64_t n,
            int64_t count) {
  using Stored = typename Type::Stored;
  constexpr int64_t tile = vectors * int64_t(sizeof(typename Type::Vec) /
                                             sizeof(typename Type::Wide));
  Stored *target = static_cast<Stored *>(targetData);
  int64_t i = 0;
  for (; i + tile <= count; i += tile)
    reduceTile<Type, Op>(target, sources, n, i);
  for (; i < count; ++i) {
    auto total = Type::widen(static_cast<const Stored *>(sources[0])[i]);
    for (int64_t j = 1; j < n; ++j)
      total = Op::of(total,
                     Type::widen(static_cast<const Stored *>(sources[j])[i]));
    target[i] = Type::narrow(total);
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
