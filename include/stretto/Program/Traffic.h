//===- Traffic.h - bytes that a Program will send ---------------*- C++ -*-===//
//
// What every rank sends in one run of a function, by kind of collective and by
// group, computed from the Program alone. Bytes sent by a rank are the bytes
// that other ranks read from it, as the runtime counts them.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_TRAFFIC_H
#define STRETTO_PROGRAM_TRAFFIC_H

#include "stretto/Runtime/Program.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace stretto {

/// Bytes that member `member` of a group of `members` sends. In elements, with
/// the whole tensor S (the gathered or not yet scattered one):
///   all-reduce                  S - slice + (n-1) slice; 2 (n-1)/n S if n | S
///   all-gather                  (n-1)/n S
///   reduce-scatter, all-to-all  (n-1)/n S
/// where slice = floor((k+1) S/n) - floor(k S/n) is what member k reduces.
uint64_t bytesSent(const program::Collective &collective, int64_t members,
                   int64_t member);

struct TrafficRow {
  std::string function;
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  uint32_t group = 0;
  std::string axes; ///< "{dp, tp}", of the group
  uint64_t calls = 0;
  uint64_t sentBytes = 0;
};

/// One row per function, kind and group that communicates, in that order.
std::vector<TrafficRow> predictTraffic(const runtime::Program &program,
                                       int64_t rank);

/// [{"function": "train", "kind": "AllReduce", "group": 0, "axes": "{dp}",
///   "calls": 3, "sent_bytes": 768}, ...]
llvm::json::Value toJson(llvm::ArrayRef<TrafficRow> rows);

/// A collective of one function with all its executions, for explain.
struct CollectiveRow {
  std::string function, segment, cause, location;
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  std::string axes;
  uint64_t calls = 0;
  uint64_t sentBytes = 0; ///< by the rank, all executions
};

/// One row per function and command, in the order of first execution.
std::vector<CollectiveRow> listCollectives(const runtime::Program &program,
                                           int64_t rank);

} // namespace stretto

#endif // STRETTO_PROGRAM_TRAFFIC_H
