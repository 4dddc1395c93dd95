//===- Permutation.h - a shuffle without a table ----------------*- C++ -*-===//
//
// A random-looking bijection of [0, size) that any rank can evaluate at any
// point: a Feistel network over the smallest even power of two that covers
// size, walked again while it leaves the range (cycle walking; Black and
// Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). Its round
// function is the project's Philox.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_PERMUTATION_H
#define STRETTO_RUNTIME_PERMUTATION_H

#include "stretto/Runtime/Random.h"

#include <cstdint>

namespace stretto::runtime {

class Permutation {
public:
  /// `size` >= 1. The same (size, key) is the same bijection everywhere.
  Permutation(uint64_t size, uint64_t key) : size(size), key(key) {
    while (halfBits < 32 && (uint64_t(1) << (2 * halfBits)) < size)
      ++halfBits;
  }

  uint64_t operator()(uint64_t index) const {
    do
      index = encrypt(index);
    while (index >= size);
    return index;
  }

private:
  uint64_t encrypt(uint64_t value) const {
    uint64_t mask = (uint64_t(1) << halfBits) - 1;
    uint64_t left = value >> halfBits, right = value & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      uint64_t next = left ^ (random::philox(key, right, round)[0] & mask);
      left = right;
      right = next;
    }
    return left << halfBits | right;
  }

  uint64_t size, key;
  unsigned halfBits = 1;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_PERMUTATION_H
