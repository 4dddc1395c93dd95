//===- Traffic.cpp - bytes that a Program will send -----------------------===//

#include "stretto/Program/Traffic.h"

#include "ProgramWalk.h"

#include "llvm/ADT/MapVector.h"
#include <map>
#include <tuple>

using namespace llvm;
using namespace stretto;
using program::CollectiveKind;

uint64_t stretto::bytesSent(const program::Collective &collective,
                            int64_t members, int64_t member) {
  uint64_t width = runtime::bytesOf(collective.dtype());
  uint64_t block = uint64_t(collective.outer()) * collective.inner();
  uint64_t others = members - 1;
  switch (collective.kind()) {
  case CollectiveKind::AllReduce: {
    uint64_t slice = block * (member + 1) / members - block * member / members;
    return (block - slice + others * slice) * width;
  }
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return others * block * width;
  case CollectiveKind::AllToAll:
    return others * block * collective.middle() * width;
  }
  return 0;
}

static std::string axesOf(const program::Program &program, uint32_t group) {
  std::string text = "{";
  for (const program::AxisRef *ref :
       all(program.groups()->Get(group)->axes())) {
    const program::Axis &axis = *program.mesh()->Get(ref->axis());
    text += (text.size() > 1 ? ", " : "") + axis.name()->str();
    if (ref->size() != axis.size())
      text += (":(" + Twine(ref->pre()) + ")" + Twine(ref->size())).str();
  }
  return text + "}";
}

namespace {
/// Calls `visit(function, segment, command, collective, bytes)` for every
/// execution of a collective.
template <typename Visit>
void forEachCollective(const runtime::Program &program, int64_t rank,
                       Visit visit) {
  const program::Program &table = program.table();
  for (const program::Function *function : all(table.functions()))
    for (const program::Call *call : all(function->calls())) {
      const program::Segment &segment = segmentOf(table, *call);
      for (const program::Command *command : all(segment.commands())) {
        const program::Collective *collective =
            command->payload_as_Collective();
        if (!collective)
          continue;
        auto *axes = table.groups()->Get(collective->group())->axes();
        visit(*function, segment, *command, *collective,
              bytesSent(*collective, runtime::Mesh::product(axes),
                        program.mesh().memberIndex(rank, axes)));
      }
    }
}
} // namespace

std::vector<TrafficRow> stretto::predictTraffic(const runtime::Program &program,
                                                int64_t rank) {
  std::map<std::tuple<std::string, CollectiveKind, uint32_t>, TrafficRow> rows;
  forEachCollective(program, rank,
                    [&](const program::Function &function,
                        const program::Segment &, const program::Command &,
                        const program::Collective &collective, uint64_t bytes) {
                      TrafficRow &row =
                          rows[{function.name()->str(), collective.kind(),
                                collective.group()}];
                      row.function = function.name()->str();
                      row.kind = collective.kind();
                      row.group = collective.group();
                      row.axes = axesOf(program.table(), collective.group());
                      row.calls += 1;
                      row.sentBytes += bytes;
                    });
  std::vector<TrafficRow> list;
  for (auto &[key, row] : rows)
    list.push_back(std::move(row));
  return list;
}

json::Value stretto::toJson(ArrayRef<TrafficRow> rows) {
  json::Array list;
  for (const TrafficRow &row : rows)
    list.push_back(
        json::Object{{"function", row.function},
                     {"kind", program::EnumNameCollectiveKind(row.kind)},
                     {"group", int64_t(row.group)},
                     {"axes", row.axes},
                     {"calls", int64_t(row.calls)},
                     {"sent_bytes", int64_t(row.sentBytes)}});
  return list;
}

std::vector<CollectiveRow>
stretto::listCollectives(const runtime::Program &program, int64_t rank) {
  MapVector<std::pair<const program::Function *, const program::Command *>,
            CollectiveRow>
      rows;
  forEachCollective(program, rank,
                    [&](const program::Function &function,
                        const program::Segment &segment,
                        const program::Command &command,
                        const program::Collective &collective, uint64_t bytes) {
                      CollectiveRow &row = rows[{&function, &command}];
                      row.function = function.name()->str();
                      row.segment = segment.name()->str();
                      row.cause = text(collective.cause()).str();
                      row.location = text(command.location()).str();
                      row.kind = collective.kind();
                      row.axes = axesOf(program.table(), collective.group());
                      row.calls += 1;
                      row.sentBytes += bytes;
                    });
  std::vector<CollectiveRow> list;
  for (auto &entry : rows)
    list.push_back(std::move(entry.second));
  return list;
}
