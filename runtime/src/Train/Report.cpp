#include "Report.h"

#include "stretto/Runtime/Agreement.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace stretto::runtime {

using nlohmann::ordered_json;

std::string memoryJson(const Executor &executor) {
  ordered_json memory;
  uint64_t held = 0;
  for (size_t i = 0; i < numRegions; ++i) {
    auto region = program::Region(i);
    uint64_t bytes = isTransient(region)
                         ? executor.program().liveBytes(region)
                         : executor.program().regionBytes(region);
    memory[program::EnumNameRegion(region)] = bytes;
    held += bytes;
  }
  memory["Fragmentation"] = executor.arenaBytes() - held;
  memory["total"] = executor.arenaBytes();
  return ordered_json({{"memory", memory}}).dump();
}

/// "dp*tp"; a sub-axis is "tp:pre:size".
static std::string groupName(const program::Program &table, uint32_t group) {
  std::string name;
  const auto *axes = table.groups()->Get(group)->axes();
  for (const program::AxisRef *ref : *axes) {
    const program::Axis *axis = table.mesh()->Get(ref->axis());
    name += (name.empty() ? "" : "*") + axis->name()->str();
    if (ref->size() != axis->size())
      name += concat(":", ref->pre(), ":", ref->size());
  }
  return name;
}

Result<std::string> bytesJson(World &world, const Executor &executor,
                              int64_t steps) {
  ordered_json mine = ordered_json::array();
  for (const TrafficEntry &entry : executor.traffic())
    if (entry.function == "train" && steps > 0)
      mine.push_back(
          {{"rank", world.rank()},
           {"function", entry.function},
           {"kind", program::EnumNameCollectiveKind(entry.kind)},
           {"group", groupName(executor.program().table(), entry.group)},
           {"calls", entry.calls / steps},
           {"bytes", entry.sentBytes / steps}});
  STRETTO_ASSIGN(std::vector<std::string> texts,
                 gatherTexts(world, mine.dump()));
  ordered_json all = ordered_json::array();
  for (const std::string &text : texts)
    for (const ordered_json &entry : ordered_json::parse(text, nullptr, false))
      all.push_back(entry);
  return ordered_json({{"bytes_per_step", all}}).dump();
}

/// Rates count the time that the rank computed, not what it waited.
static std::string profileLine(const ProfileEntry &entry, int64_t steps,
                               double total) {
  double seconds = std::max(entry.cpuSeconds, 1e-12);
  double elements = double(entry.largest) / sizeof(float);
  return fmt::format(
      "{:9.3f} {:9.3f} {:6.2f} {:8.1f} {:8.1f} {:7.2f} {:7.3f}  {} {}\n",
      1e3 * entry.seconds / double(steps),
      1e3 * (entry.seconds - entry.cpuSeconds) / double(steps),
      100 * entry.seconds / total, double(entry.count) / double(steps),
      entry.flops / seconds * 1e-9, double(entry.bytes) / seconds * 1e-9,
      elements > 0 ? seconds / elements * 1e9 : 0.0, entry.kind, entry.name);
}

std::string profileTable(const Executor &executor, int64_t steps,
                         double stepSeconds) {
  steps = std::max<int64_t>(steps, 1);
  std::vector<ProfileEntry> entries;
  ProfileEntry rest;
  rest.kind = "host";
  rest.name = "data, agreement, metrics";
  rest.count = uint64_t(steps);
  rest.seconds = stepSeconds;
  for (const ProfileEntry &entry : executor.profile())
    if (entry.function == "train") {
      entries.push_back(entry);
      rest.seconds -= entry.seconds;
    }
  rest.cpuSeconds = rest.seconds;
  entries.push_back(rest);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ProfileEntry &a, const ProfileEntry &b) {
                     return a.seconds > b.seconds;
                   });
  std::string text = fmt::format(
      "rank {}, {} steps (ns per element of the largest operand)\n{:>9} {:>9} "
      "{:>6} {:>8} {:>8} {:>7} {:>7}  {}\n",
      executor.world().rank(), steps, "ms/step", "waiting", "%", "calls",
      "GFLOP/s", "GB/s", "ns/el", "what");
  for (const ProfileEntry &entry : entries)
    text += profileLine(entry, steps, std::max(stepSeconds, 1e-12));
  return text;
}

} // namespace stretto::runtime
