#include "Report.h"

#include "stretto/Runtime/Agreement.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace stretto::runtime {

using nlohmann::ordered_json;

std::string memoryJson(const Executor &executor) {
  ordered_json memory;
  for (size_t region = 0; region < numRegions; ++region)
    memory[program::EnumNameRegion(program::Region(region))] =
        executor.program().regionBytes(program::Region(region));
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

std::string profileTable(const Executor &executor, int64_t steps) {
  std::vector<ProfileEntry> entries = executor.profile();
  std::sort(entries.begin(), entries.end(),
            [](const ProfileEntry &a, const ProfileEntry &b) {
              return a.seconds > b.seconds;
            });
  double total = 0;
  for (const ProfileEntry &entry : entries)
    total += entry.seconds;
  std::string text =
      fmt::format("rank {}, {} steps\n{:>8} {:>6} {:>8} {:>9} {:>8}  {}\n",
                  executor.world().rank(), steps, "ms/step", "%", "calls",
                  "GFLOP/s", "GB/s", "what");
  for (const ProfileEntry &entry : entries) {
    double seconds = std::max(entry.seconds, 1e-12);
    text += fmt::format(
        "{:8.3f} {:6.2f} {:8} {:9.1f} {:8.2f}  {} {}\n",
        1e3 * entry.seconds / double(std::max<int64_t>(1, steps)),
        100 * entry.seconds / std::max(total, 1e-12), entry.count,
        entry.flops / seconds * 1e-9, double(entry.bytes) / seconds * 1e-9,
        entry.kind, entry.name);
  }
  return text;
}

} // namespace stretto::runtime
