//===- NonFinite.h - the first value that is not finite ---------*- C++ -*-===//
//
// Looks through the elements of a buffer.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_NONFINITE_H
#define STRETTO_RUNTIME_EXECUTOR_NONFINITE_H

#include "stretto/Runtime/Program_generated.h"

namespace stretto::runtime {

/// The first NaN, else the first infinity; none: element is negative.
struct FirstBad {
  int64_t element = -1;
  double value = 0;
  bool isNan() const { return value != value; }
};

/// Whole numbers are finite, whatever they are.
FirstBad findBad(program::DType type, const char *data, uint64_t bytes);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_NONFINITE_H
