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
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace stretto {

/// Bytes that member `member` of a group of `members` sends. In elements, with
/// the whole tensor S (the gathered or not yet scattered one):
///   all-reduce                  S - slice + (n-1) slice; 2 (n-1)/n S if n | S
///   all-gather                  (n-1)/n S
///   reduce-scatter, all-to-all  (n-1)/n S
///   permute                     S, or 0 where `sender`, the member whose
///                               block comes here, is the member itself
/// where slice = floor((k+1) S/n) - floor(k S/n) is what member k reduces.
uint64_t bytesSent(const program::Collective &collective, int64_t members,
                   int64_t member, int64_t sender = -1);

struct TrafficRow {
  int64_t rank = 0;
  std::string function;
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  std::string group; ///< its axes, "dp*tp"; a sub-axis is "tp:pre:size"
  uint64_t calls = 0;
  uint64_t bytes = 0; ///< sent by the rank
};

/// What `rank` sends in one run of `function`: one row per kind and group that
/// communicates, in the order of first use.
std::vector<TrafficRow> predictTraffic(const runtime::Program &program,
                                       const program::Function &function,
                                       int64_t rank);

/// {"bytes_per_step": [{"rank": 0, "function": "train", "kind": "AllReduce",
///   "group": "dp*tp", "calls": 3, "bytes": 768}, ...]}: one step of "train",
/// all ranks one after the other. The same as an executable's --print-bytes.
void printTraffic(llvm::raw_ostream &os, const runtime::Program &program);

/// A collective of one function with all its executions, for explain.
struct CollectiveRow {
  std::string function, segment, cause, location;
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  std::string group;
  uint64_t calls = 0;
  uint64_t bytes = 0; ///< by the rank, all executions
  /// Collectives that run with the waits of one, this one included: neighbours
  /// of one kind and group of which none needs what another one writes.
  unsigned together = 1;
};

/// One row per function and command, in the order of first execution.
std::vector<CollectiveRow> listCollectives(const runtime::Program &program,
                                           int64_t rank);

} // namespace stretto

#endif // STRETTO_PROGRAM_TRAFFIC_H
