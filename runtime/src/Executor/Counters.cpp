//===- Counters.cpp - time and bytes of a run -----------------------------===//

#include "Counters.h"

#include <algorithm>

namespace stretto::runtime {

uint32_t Counters::profileRow(const ProfileEntry &work, unsigned stream) {
  auto [found, isNew] = profileRows.try_emplace(
      {stream, work.function, work.kind, work.name, work.flops, work.bytes},
      uint32_t(profile.size()));
  if (isNew) {
    profile.push_back(work);
    isAside.push_back(stream != 0);
  }
  return found->second;
}

uint32_t Counters::trafficRow(const std::string &function,
                              program::CollectiveKind kind, uint32_t group,
                              unsigned stream) {
  auto [found, isNew] = trafficRows.try_emplace(
      {stream, function, int(kind), group}, uint32_t(traffic.size()));
  if (isNew)
    traffic.push_back({function, kind, group, 0, 0});
  return found->second;
}

std::vector<ProfileEntry> Counters::profileEntries() const {
  std::map<std::tuple<std::string, std::string, std::string>, ProfileEntry>
      sums;
  for (const ProfileEntry &row : profile) {
    if (row.count == 0)
      continue;
    ProfileEntry &sum = sums[{row.function, row.kind, row.name}];
    sum.function = row.function;
    sum.kind = row.kind;
    sum.name = row.name;
    sum.count += row.count;
    sum.seconds += row.seconds;
    sum.cpuSeconds += row.cpuSeconds;
    sum.asideSeconds += row.asideSeconds;
    sum.flops += row.flops * double(row.count);
    sum.bytes += row.bytes * row.count;
    sum.largest += row.largest * row.count;
  }
  std::vector<ProfileEntry> entries;
  for (auto &[key, sum] : sums)
    entries.push_back(std::move(sum));
  std::sort(entries.begin(), entries.end(),
            [](const ProfileEntry &a, const ProfileEntry &b) {
              return std::tie(b.seconds, a.function, a.kind, a.name) <
                     std::tie(a.seconds, b.function, b.kind, b.name);
            });
  return entries;
}

std::vector<TrafficEntry> Counters::trafficEntries() const {
  std::vector<TrafficEntry> used;
  for (const TrafficEntry &row : traffic) {
    if (row.calls == 0)
      continue;
    auto same = [&](const TrafficEntry &sum) {
      return sum.function == row.function && sum.kind == row.kind &&
             sum.group == row.group;
    };
    auto sum = std::find_if(used.begin(), used.end(), same);
    if (sum == used.end()) {
      used.push_back(row);
      continue;
    }
    sum->calls += row.calls;
    sum->sentBytes += row.sentBytes;
  }
  return used;
}

void Counters::reset() {
  for (ProfileEntry &row : profile)
    row.count = 0, row.seconds = row.cpuSeconds = row.asideSeconds = 0;
  for (TrafficEntry &row : traffic)
    row.calls = 0, row.sentBytes = 0;
}

} // namespace stretto::runtime
