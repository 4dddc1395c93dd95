#include "Report.h"

#include "stretto/Runtime/Agreement.h"
#include "stretto/Runtime/Exposed.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

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

static size_t stepsOf(const std::vector<TraceSpan> &spans) {
  std::set<int64_t> steps;
  for (const TraceSpan &span : spans)
    steps.insert(span.step);
  return steps.size();
}

ordered_json communicationJson(const Executor &executor) {
  std::vector<TraceSpan> spans = executor.trace();
  Communication all = communicationOf(spans);
  ordered_json rows = ordered_json::array();
  for (const CommunicationRow &row : all.rows)
    rows.push_back({{"collective", row.name},
                    {"segment", row.segment},
                    {"cause", row.cause},
                    {"count", row.count},
                    {"bytes", row.bytes},
                    {"seconds", row.seconds},
                    {"exposed_seconds", row.exposedSeconds}});
  return {{"steps", stepsOf(spans)},
          {"seconds", all.seconds},
          {"exposed_seconds", all.exposedSeconds},
          {"other_wait_seconds", all.otherWaitSeconds},
          {"collectives", std::move(rows)}};
}

std::string communicationTable(const Executor &executor) {
  std::vector<TraceSpan> spans = executor.trace();
  Communication all = communicationOf(spans);
  double steps = double(std::max<size_t>(stepsOf(spans), 1));
  std::string text = fmt::format(
      "communication of rank {} in {} traced steps\n{:>9} {:>9} {:>8} {:>10}  "
      "{}\n",
      executor.world().rank(), steps, "ms/step", "exposed", "runs", "KiB sent",
      "what");
  auto line = [&](double seconds, double exposed, double count, double bytes,
                  const std::string &what) {
    text += fmt::format("{:9.3f} {:9.3f} {:8.1f} {:10.1f}  {}\n",
                        1e3 * seconds / steps, 1e3 * exposed / steps,
                        count / steps, bytes / 1024 / steps, what);
  };
  double count = 0, bytes = 0;
  for (const CommunicationRow &row : all.rows) {
    count += double(row.count);
    bytes += double(row.bytes);
    line(row.seconds, row.exposedSeconds, double(row.count), double(row.bytes),
         concat(row.segment, ": ", row.name, row.cause.empty() ? "" : ", ",
                row.cause));
  }
  line(all.seconds, all.exposedSeconds, count, bytes, "all");
  text.pop_back();
  return text;
}

/// Rates count the time that the rank computed, not what it waited.
static std::string profileLine(const ProfileEntry &entry, int64_t steps,
                               double total) {
  double seconds = std::max(entry.cpuSeconds, 1e-12);
  double elements = double(entry.largest);
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
      rest.seconds -= entry.seconds - entry.asideSeconds;
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
