//===- Peak.h - what one thread of this machine can do ----------*- C++ -*-===//
//
// The denominator of model-FLOPs utilisation: the measured rate of the library
// GEMM, one thread, f32.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_PEAK_H
#define STRETTO_RUNTIME_SRC_TRAIN_PEAK_H

#include "stretto/Runtime/Status.h"

namespace stretto::runtime {

/// FLOP/s of a 1024^3 GEMM, the best of some runs of together about 0.2 s.
Result<double> measurePeakFlops();

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_PEAK_H
