//===- Traffic.cpp - bytes that a Program will send -----------------------===//

#include "stretto/Program/Traffic.h"

#include "ProgramWalk.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace stretto;
using program::CollectiveKind;

uint64_t stretto::bytesSent(const program::Collective &collective,
                            int64_t members, int64_t member, int64_t sender) {
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
  case CollectiveKind::Permute: // one other member gets it, or it stays
    return sender == member ? 0 : block * width;
  }
  return 0;
}

static std::string nameOf(const program::Program &program, uint32_t group) {
  std::string name;
  for (const program::AxisRef *ref :
       all(program.groups()->Get(group)->axes())) {
    const program::Axis &axis = *program.mesh()->Get(ref->axis());
    name += (name.empty() ? "" : "*") + axis.name()->str();
    if (ref->size() != axis.size())
      name += (":" + Twine(ref->pre()) + ":" + Twine(ref->size())).str();
  }
  return name;
}

namespace {
/// Calls `visit(segment, command, collective, bytes)` for every execution of a
/// collective.
template <typename Visit>
void forEachCollective(const runtime::Program &program,
                       const program::Function &function, int64_t rank,
                       Visit visit) {
  const program::Program &table = program.table();
  for (const program::Call *call : all(function.calls())) {
    const program::Segment &segment = segmentOf(table, *call);
    for (const program::Command *command : all(segment.commands()))
      if (const program::Collective *collective =
              command->payload_as_Collective()) {
        auto *axes = table.groups()->Get(collective->group())->axes();
        visit(segment, *command, *collective,
              bytesSent(*collective, runtime::Mesh::product(axes),
                        program.mesh().memberIndex(rank, axes),
                        program.mesh().sender(rank, collective->to(),
                                              collective->shift())));
      }
  }
}
} // namespace

std::vector<TrafficRow>
stretto::predictTraffic(const runtime::Program &program,
                        const program::Function &function, int64_t rank) {
  MapVector<std::pair<unsigned, uint32_t>, TrafficRow> rows;
  forEachCollective(
      program, function, rank,
      [&](const program::Segment &, const program::Command &,
          const program::Collective &collective, uint64_t bytes) {
        TrafficRow &row =
            rows[{unsigned(collective.kind()), collective.group()}];
        row.rank = rank;
        row.function = function.name()->str();
        row.kind = collective.kind();
        row.group = nameOf(program.table(), collective.group());
        row.calls += 1;
        row.bytes += bytes;
      });
  std::vector<TrafficRow> list;
  for (auto &entry : rows)
    list.push_back(std::move(entry.second));
  return list;
}

void stretto::printTraffic(raw_ostream &os, const runtime::Program &program) {
  json::OStream json(os);
  auto print = [&](const TrafficRow &row) {
    json.object([&] {
      json.attribute("rank", row.rank);
      json.attribute("function", row.function);
      json.attribute("kind", program::EnumNameCollectiveKind(row.kind));
      json.attribute("group", row.group);
      json.attribute("calls", int64_t(row.calls));
      json.attribute("bytes", int64_t(row.bytes));
    });
  };
  json.object([&] {
    json.attributeArray("bytes_per_step", [&] {
      const program::Function *train = program.findFunction("train");
      for (int64_t rank = 0; train && rank < program.mesh().numRanks(); ++rank)
        for (const TrafficRow &row : predictTraffic(program, *train, rank))
          print(row);
    });
  });
  os << "\n";
}

/// May the two be in flight at once, as far as bytes tell?
static bool areApart(const program::Command &a, const program::Command &b) {
  for (const program::Operand *x : all(a.operands()))
    for (const program::Operand *y : all(b.operands())) {
      bool writes = x->access() != program::Access::Read ||
                    y->access() != program::Access::Read;
      bool same =
          x->space() == y->space() &&
          (x->space() == program::Space::Local || x->index() == y->index()) &&
          x->offset() < y->offset() + y->bytes() &&
          y->offset() < x->offset() + x->bytes();
      if (writes && same)
        return false;
    }
  return true;
}

/// For every collective of a segment how many run together with it.
static DenseMap<const program::Command *, unsigned>
runsOf(const program::Segment &segment) {
  DenseMap<const program::Command *, unsigned> sizes;
  SmallVector<const program::Command *> run;
  auto finish = [&] {
    for (const program::Command *command : run)
      sizes[command] = run.size();
    run.clear();
  };
  for (const program::Command *command : all(segment.commands())) {
    const program::Collective *collective = command->payload_as_Collective();
    bool joins = collective && all_of(run, [&](const program::Command *other) {
                   const auto &known = *other->payload_as_Collective();
                   return known.kind() == collective->kind() &&
                          known.group() == collective->group() &&
                          areApart(*other, *command);
                 });
    if (!joins)
      finish();
    if (collective)
      run.push_back(command);
  }
  finish();
  return sizes;
}

std::vector<CollectiveRow>
stretto::listCollectives(const runtime::Program &program, int64_t rank) {
  std::vector<CollectiveRow> list;
  DenseMap<const program::Segment *,
           DenseMap<const program::Command *, unsigned>>
      runs;
  for (const program::Function *function : all(program.table().functions())) {
    MapVector<const program::Command *, CollectiveRow> rows;
    forEachCollective(
        program, *function, rank,
        [&](const program::Segment &segment, const program::Command &command,
            const program::Collective &collective, uint64_t bytes) {
          CollectiveRow &row = rows[&command];
          row.function = function->name()->str();
          row.segment = segment.name()->str();
          row.cause = text(collective.cause()).str();
          row.location = text(command.location()).str();
          row.kind = collective.kind();
          row.group = nameOf(program.table(), collective.group());
          auto [known, isNew] = runs.try_emplace(&segment);
          if (isNew)
            known->second = runsOf(segment);
          row.together = known->second.lookup(&command);
          row.calls += 1;
          row.bytes += bytes;
        });
    for (auto &entry : rows)
      list.push_back(std::move(entry.second));
  }
  return list;
}
