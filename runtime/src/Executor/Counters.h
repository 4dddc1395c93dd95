//===- Counters.h - time and bytes of a run ---------------------*- C++ -*-===//
//
// One row per stream, kind of work and (function, collective, group), looked up
// once when a Program is expanded and only added to afterwards, each by the
// thread of its stream.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_COUNTERS_H
#define STRETTO_RUNTIME_EXECUTOR_COUNTERS_H

#include "stretto/Runtime/Executor.h"

#include <map>
#include <tuple>

namespace stretto::runtime {

class Counters {
public:
  /// Index of the row for such work, made when new. `work` has the cost of one
  /// execution and no times.
  uint32_t profileRow(const ProfileEntry &work, unsigned stream);
  uint32_t trafficRow(const std::string &function, program::CollectiveKind kind,
                      uint32_t group, unsigned stream);

  /// One execution of the row's work.
  const ProfileEntry &work(uint32_t row) const { return profile[row]; }
  void addTime(uint32_t row, double seconds, double cpuSeconds) {
    profile[row].count += 1;
    profile[row].seconds += seconds;
    profile[row].cpuSeconds += cpuSeconds;
    profile[row].asideSeconds += isAside[row] ? seconds : 0;
  }
  void addTraffic(uint32_t row, uint64_t calls, uint64_t bytes) {
    traffic[row].calls += calls;
    traffic[row].sentBytes += bytes;
  }

  /// Rows that were used, of all streams together, those of most time first.
  std::vector<ProfileEntry> profileEntries() const;
  std::vector<TrafficEntry> trafficEntries() const;
  void reset();

private:
  std::vector<ProfileEntry> profile; // flops, bytes: of one execution
  std::vector<bool> isAside;         // by row: not on stream 0
  std::vector<TrafficEntry> traffic;
  std::map<std::tuple<unsigned, std::string, std::string, std::string, double,
                      uint64_t>,
           uint32_t>
      profileRows;
  std::map<std::tuple<unsigned, std::string, int, uint32_t>, uint32_t>
      trafficRows;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_COUNTERS_H
