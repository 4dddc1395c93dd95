//===- Schedule.h - what is communicated while what is computed -*- C++ -*-===//
//
// Gives the calls of an unrolled step an order and streams. Computation keeps
// its order on stream 0. Gathers of parameters and reductions of gradients move
// to stream 1: a gather is issued some passes before the one that reads it, a
// reduction as soon as the last gradient of its bucket is there. Pure data.
//
// What this promises about memory: a gather starts when the pass `prefetch`
// passes before its reader does, no earlier, and when a reduction has been
// issued, computation goes on once the one `prefetch` reductions before it (at
// least one) has ended: so many gradients are on their way at a time. Of what
// is issued at one time reductions come first; what a gather fills may then be
// what they have read.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_OVERLAP_SCHEDULE_H
#define STRETTO_TRANSFORMS_OVERLAP_SCHEDULE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace stretto {

enum class CallKind {
  Compute,
  GatherOnce, ///< makes copies of parameters that last for the step
  Gather,     ///< the same, for few passes
  Reduce,     ///< takes what calls made of gradients; may share a bucket
  Accumulate  ///< the same, each a bucket of its own
};

/// A call as the schedule sees it. Indices are those of the step's order, which
/// is legal.
struct ScheduledCall {
  CallKind kind = CallKind::Compute;
  /// Calls before this one that it needs: values that it reads, readers of what
  /// it overwrites.
  llvm::SmallVector<unsigned> needs;
  uint64_t bytes = 0; ///< of the gradients that a Reduce takes
};

struct OverlapOptions {
  uint64_t bucketBytes = 0;
  unsigned prefetch = 1;
};

/// One call of the schedule.
struct Issue {
  unsigned call;
  unsigned stream = 0;
  /// Calls on other streams that must have ended before, beside those needed.
  llvm::SmallVector<unsigned, 1> after;
};

/// All calls, each once, in an order in which every call comes after those that
/// it needs. Without options everything is on stream 0, in the same order as
/// with a prefetch of 0.
std::vector<Issue> scheduleCalls(llvm::ArrayRef<ScheduledCall> calls,
                                 std::optional<OverlapOptions> options);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_OVERLAP_SCHEDULE_H
