//===- Init.h - initial parameter values ------------------------*- C++ -*-===//
//
// Element i (row-major, logical) of a parameter depends on the seed, the
// parameter's name and i alone, so every plan starts from the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_INIT_H
#define STRETTO_RUNTIME_INIT_H

#include "stretto/Runtime/Program_generated.h"
#include "stretto/Runtime/Random.h"

#include <cstdint>

namespace stretto::runtime {

/// `key` is random::key(seed, 0, xxh3_64(name)); computed in f64.
inline double initialValue(program::InitKind kind, double a, double b,
                           uint64_t key, uint64_t element) {
  switch (kind) {
  case program::InitKind::Zeros:
    return 0;
  case program::InitKind::Ones:
    return 1;
  case program::InitKind::Constant:
    return a;
  case program::InitKind::Normal:
    return a + b * random::normal(key, element);
  case program::InitKind::Uniform:
    return a + (b - a) * random::uniform(key, element);
  }
  return 0;
}

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_INIT_H
