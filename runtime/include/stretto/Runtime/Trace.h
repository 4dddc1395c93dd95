//===- Trace.h - what ran when ----------------------------------*- C++ -*-===//
//
// Spans of time that a rank spent in the commands of some steps, and their form
// for Perfetto and chrome://tracing: a process per rank, a track per stream,
// calls of segments around their commands. The format is the "Trace Event
// Format" (complete events), times in microseconds.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_TRACE_H
#define STRETTO_RUNTIME_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace stretto::runtime {

/// One command, or a run of collectives that went together.
struct TraceSpan {
  std::string kind;               ///< kernel, gemm, collective, wait, …
  std::string name;               ///< of the kernel, or its sizes
  std::string segment, instance;  ///< "decoder.fwd", "layers.0"
  std::string location;           ///< source operation
  std::string cause;              ///< of a collective
  std::vector<uint32_t> waitsFor; ///< streams that a wait is for
  int64_t step = 0, microbatch = 0;
  uint32_t call = 0; ///< number of the call within the step
  uint32_t stream = 0;
  double begin = 0, end = 0; ///< seconds of the monotonic clock
  double flops = 0;
  uint64_t bytes = 0; ///< of a collective: sent; else of the operands
  /// Measured by the adversary: bytes of the transient range that hold a value
  /// when the command has ended, in whole lines of 64; 0: not measured.
  uint64_t alive = 0;
};

/// The events of one rank, separated by commas; times since `zero`.
std::string traceEvents(int64_t rank, const std::vector<TraceSpan> &spans,
                        double zero);

/// A whole file from the events of all ranks.
std::string traceFile(const std::vector<std::string> &events);

/// Seconds of the clock that spans are in.
double traceClock();

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_TRACE_H
