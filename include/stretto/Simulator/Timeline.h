//===- Timeline.h - when a step does what, by the cost model ----*- C++ -*-===//
//
// Runs a function of a Program in time: every command takes what its work costs
// on a machine of given rates, streams run side by side, and calls wait for
// what they must start after. The result has the form of a measured trace, so
// that what is said of one is said of the other.
//
// All ranks are taken to be as far as this one: a collective begins when this
// rank comes to it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SIMULATOR_TIMELINE_H
#define STRETTO_SIMULATOR_TIMELINE_H

#include "stretto/Runtime/Program.h"
#include "stretto/Runtime/Trace.h"
#include <functional>
#include <vector>

namespace stretto {

/// What one rank does per second.
struct MachineRates {
  /// Products and attention in f32. The default is one core with AVX-512 (AMD
  /// Zen 4, oneDNN 2.6.3: 103 to 116 GFLOP/s measured, 2026).
  double flops = 110e9;
  /// The same on bf16 (195 to 218 GFLOP/s there).
  double bf16Flops = 200e9;
  /// Bytes that kernels, fills and copies read and write (a scaled copy of f32
  /// takes 0.3 ns per element there).
  double memoryBytes = 25e9;
  /// Seconds of a collective: over the mesh axes of its group, in so many
  /// rounds, this rank sending so many bytes.
  std::function<double(const std::vector<program::AxisRef> &axes, int rounds,
                       double bytes)>
      link;
};

/// The spans of one run on `rank`, beginning at 0: commands, and waits for
/// other streams (kind "wait").
std::vector<runtime::TraceSpan> simulate(const runtime::Program &program,
                                         const program::Function &function,
                                         int64_t rank,
                                         const MachineRates &rates);

/// When the last span ends.
double secondsOf(const std::vector<runtime::TraceSpan> &spans);

} // namespace stretto

#endif // STRETTO_SIMULATOR_TIMELINE_H
