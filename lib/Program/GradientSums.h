//===- GradientSums.h - what a gradient was summed over ---------*- C++ -*-===//
//
// Private to the room: follows a gradient back through the calls of a step,
// over scratch and accumulators, to the commands that it is made of.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_PROGRAM_GRADIENTSUMS_H
#define STRETTO_LIB_PROGRAM_GRADIENTSUMS_H

#include "ProgramWalk.h"
#include <vector>

namespace stretto {

struct GradientSums {
  /// Axes of the all-reduces and reduce-scatters on the way, as they come.
  std::vector<program::AxisRef> axes;
  /// Does anything but fills and collectives write it?
  bool computed = false;
};

GradientSums sumsOf(const program::Program &program,
                    const program::Function &train,
                    const program::Slot &gradient);

bool overlap(const program::AxisRef &a, const program::AxisRef &b);

/// Do `axes` together make up `wanted`?
bool covers(const std::vector<program::AxisRef> &axes,
            const program::AxisRef &wanted);

} // namespace stretto

#endif // STRETTO_LIB_PROGRAM_GRADIENTSUMS_H
