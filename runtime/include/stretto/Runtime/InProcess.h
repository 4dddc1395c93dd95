//===- InProcess.h - ranks as threads of one process ------------*- C++ -*-===//
//
// The engine for one machine: every rank is a thread, and a collective reads
// the memory of the other ranks directly.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_INPROCESS_H
#define STRETTO_RUNTIME_INPROCESS_H

#include "stretto/Runtime/Communicator.h"

#include <functional>

namespace stretto::runtime {

/// Runs body(world) on `numRanks` threads and joins them all. A body that
/// returns an error aborts the job. Returns success, or the error of the rank
/// that failed first, prefixed with "rank R: ".
Status runInProcess(int64_t numRanks, const CommOptions &options,
                    const std::function<Status(World &)> &body);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_INPROCESS_H
