//===- Exposed.h - communication that computation waited for ----*- C++ -*-===//
//
// From the trace of one rank: how long its collectives took, and how much of
// that the compute stream (0) stood still for. A collective on stream 0 counts
// whole; one on another stream for the time in which stream 0 waited and the
// stream that it waited for, directly or through a third, was in it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXPOSED_H
#define STRETTO_RUNTIME_EXPOSED_H

#include "stretto/Runtime/Trace.h"

namespace stretto::runtime {

/// All collectives of one kind, segment and cause.
struct CommunicationRow {
  std::string name;    ///< "AllReduce F32 group 0 of 2"
  std::string segment; ///< "decoder.reduce"
  std::string cause;   ///< value, axis and plan line, of the first of a run
  uint64_t count = 0;  ///< runs of collectives that went together
  uint64_t bytes = 0;  ///< sent
  double seconds = 0, exposedSeconds = 0;
};

struct Communication {
  std::vector<CommunicationRow> rows; ///< those most exposed first
  double seconds = 0, exposedSeconds = 0;
  /// Stream 0 waited and no collective was to blame.
  double otherWaitSeconds = 0;
};

/// `spans` are of one rank, those of each stream in the order of time.
Communication communicationOf(const std::vector<TraceSpan> &spans);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXPOSED_H
