//===- Random.h - counter-based random numbers ------------------*- C++ -*-===//
//
// The one definition of randomness in Stretto: Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011), keyed by what is
// drawn and never by who draws it. Interpreter, kernels and initialisation all
// agree with this header bit for bit, so every plan sees the same numbers.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_RANDOM_H
#define STRETTO_RUNTIME_RANDOM_H

#include <array>
#include <cmath>
#include <cstdint>

namespace stretto::random {

/// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014); mixes key parts.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The 64-bit Philox key of one instance in one step. `instance` is
/// xxh3_64(instance path) for random operations in layers, and
/// xxh3_64(parameter name) with step 0 for initialisation.
constexpr uint64_t key(uint64_t seed, uint64_t step, uint64_t instance) {
  return mix(mix(mix(seed) ^ step) ^ instance);
}

/// Ten rounds of Philox4x32 on counter (element, opId) under `key`.
inline std::array<uint32_t, 4> philox(uint64_t key, uint64_t element,
                                      uint64_t opId) {
  uint32_t c0 = uint32_t(element), c1 = uint32_t(element >> 32);
  uint32_t c2 = uint32_t(opId), c3 = uint32_t(opId >> 32);
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53u) * c0;
    uint64_t p1 = uint64_t(0xCD9E8D57u) * c2;
    uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    uint32_t n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c1 = uint32_t(p1);
    c3 = uint32_t(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// The 24 bits that decide a dropout mask: element is kept when
/// bits24(...) >= dropoutThreshold(p). `element` is the row-major index in the
/// logical (unpadded, global) tensor, its sample coordinate being the global
/// sample index.
inline uint32_t bits24(uint64_t key, uint64_t element, uint64_t opId) {
  return philox(key, element, opId)[0] >> 8;
}
inline uint32_t dropoutThreshold(double probability) {
  return uint32_t(std::ceil(probability * 16777216.0));
}

/// Uniform in [0, 1) with 32 bits; word 0 of the block.
inline double uniform(uint64_t key, uint64_t element) {
  return philox(key, element, 0)[0] * 0x1p-32;
}

/// Standard normal by Box and Muller from words 0 and 1 of the block, in f64.
inline double normal(uint64_t key, uint64_t element) {
  auto words = philox(key, element, 0);
  double u1 = (double(words[0]) + 1.0) * 0x1p-32; // (0, 1]
  double u2 = double(words[1]) * 0x1p-32;         // [0, 1)
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(6.283185307179586 * u2);
}

} // namespace stretto::random

#endif // STRETTO_RUNTIME_RANDOM_H
