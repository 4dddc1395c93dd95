//===- Replay.cpp - a step again, looking at everything -------------------===//

#include "Replay.h"

#include "NonFinite.h"
#include "Origin.h"

namespace stretto::runtime {

namespace {

class Replayer {
public:
  explicit Replayer(const ReplayContext &context)
      : context(context), arena(context.regions[0]) {}

  Result<NonFiniteOrigin> run() {
    STRETTO_TRY(runAll());
    lookAtResults();
    std::vector<uint8_t> all(findings.size() * context.world.size());
    STRETTO_TRY(context.world.everyone().gather(findings.data(), all.data(),
                                                int64_t(findings.size())));
    OriginSite site = findOrigin(context.program.mesh(), touches, all);
    if (site.rank < 0)
      return NonFiniteOrigin();
    FirstBad mine = found[site.touch];
    std::vector<FirstBad> ofRanks(context.world.size());
    STRETTO_TRY(
        context.world.everyone().gather(&mine, ofRanks.data(), sizeof(mine)));
    return NonFiniteOrigin{site.rank, describe(site, ofRanks[site.rank])};
  }

private:
  Status runAll() {
    const std::vector<Instruction> &list = context.expansion.instructions;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind == Instruction::Kind::Wait)
        continue; // the order of the Program is legal
      if (list[i].kind == Instruction::Kind::Collective) {
        STRETTO_TRY(runCollectives(list, i));
        continue;
      }
      auto work = [&]() -> Status {
        STRETTO_TRY(context.issue(list[i]));
        return runPlants(list, i);
      };
      STRETTO_TRY(observe(
          {list[i].call, list[i].command}, nullptr,
          context.expansion.buffers.data() + list[i].firstBuffer, work));
    }
    return Status::ok();
  }

  /// A planted value belongs to the command before it.
  Status runPlants(const std::vector<Instruction> &list, size_t &i) {
    while (i + 1 < list.size() &&
           list[i + 1].kind == Instruction::Kind::Plant) {
      STRETTO_TRY(context.issue(list[++i]));
    }
    return Status::ok();
  }

  /// One after the other: the same bits, and each can be blamed alone.
  Status runCollectives(const std::vector<Instruction> &list, size_t &i) {
    const Instruction &instruction = list[i];
    for (uint32_t k = 0; k < instruction.numTasks; ++k) {
      uint32_t at = instruction.firstTask + k;
      const CollectiveTask &task = context.expansion.tasks[at];
      void *const buffers[] = {const_cast<void *>(task.source), task.target};
      bool last = k + 1 == instruction.numTasks;
      auto work = [&]() -> Status {
        uint64_t ignored = 0;
        STRETTO_TRY(instruction.communicator->run(&task, 1, ignored));
        return last ? runPlants(list, i) : Status::ok();
      };
      const CommandOfCall &origin = context.expansion.taskCommands[at];
      const program::Collective &collective =
          *origin.command->payload_as_Collective();
      STRETTO_TRY(observe(origin, &collective, buffers, work));
    }
    return Status::ok();
  }

  template <typename Work>
  Status observe(const CommandOfCall &origin,
                 const program::Collective *collective, void *const *buffers,
                 Work work) {
    TouchingCommand command;
    command.firstTouch = touches.touches.size();
    command.numTouches =
        origin.command->operands() ? origin.command->operands()->size() : 0;
    command.isCollective = collective;
    if (collective)
      command.group =
          context.program.table().groups()->Get(collective->group())->axes();
    command.isConstant = origin.command->payload_as_Fill();
    for (size_t i = 0; i < command.numTouches; ++i) {
      const program::Operand &operand =
          *origin.command->operands()->Get(uint32_t(i));
      bool reads = operand.access() != program::Access::Write;
      bool writes = operand.access() != program::Access::Read;
      addTouch(static_cast<char *>(buffers[i]), operand.bytes(),
               operandType(*origin.command, i), reads, writes);
    }
    STRETTO_TRY(work());
    for (size_t i = 0; i < command.numTouches; ++i)
      lookAtWritten(command.firstTouch + i);
    touches.commands.push_back(command);
    commands.push_back(origin);
    return Status::ok();
  }

  void addTouch(const char *data, uint64_t bytes, program::DType type,
                bool reads, bool writes) {
    uint64_t begin = uint64_t(data - arena);
    touches.touches.push_back({begin, begin + bytes, reads, writes});
    types.push_back(type);
    FirstBad bad = reads ? findBad(type, data, bytes) : FirstBad();
    findings.push_back(bad.element < 0 ? 0
                       : bad.isNan()   ? ReadNan
                                       : ReadInfinity);
    found.emplace_back();
  }
  void lookAtWritten(size_t at) {
    const Touch &touch = touches.touches[at];
    if (!touch.writes)
      return;
    found[at] =
        findBad(types[at], arena + touch.begin, touch.end - touch.begin);
    if (found[at].element >= 0)
      findings[at] |= found[at].isNan() ? WroteNan : WroteInfinity;
  }

  /// The host reads what the function gives out.
  void lookAtResults() {
    TouchingCommand host;
    host.firstTouch = touches.touches.size();
    if (context.function.outputs())
      for (const program::Binding *output : *context.function.outputs())
        for (const program::Slot *slot : *output->slots())
          addTouch(context.regions[size_t(slot->region())] + slot->offset(),
                   slot->bytes(), output->dtype(), /*reads=*/true,
                   /*writes=*/false);
    host.numTouches = touches.touches.size() - host.firstTouch;
    touches.commands.push_back(host);
  }

  std::string describe(const OriginSite &site, const FirstBad &bad) const {
    const CommandOfCall &origin = commands[site.command];
    const program::Call &call = *origin.call;
    const program::Operand &operand = *origin.command->operands()->Get(
        uint32_t(site.touch - touches.commands[site.command].firstTouch));
    std::string name = argumentName(context.program, call, operand);
    auto text = [](const flatbuffers::String *string) {
      return string ? string->str() : std::string();
    };
    std::string where = text(call.instance());
    return concat(name.empty() ? "an intermediate value" : "'" + name + "'",
                  where.empty() ? "" : " of '" + where + "'", " became ",
                  bad.value, " at element ", bad.element, " in ",
                  text(origin.command->location()), ", micro-batch ",
                  call.microbatch(), ", from finite operands");
  }

  const ReplayContext &context;
  const char *arena;
  Touches touches;
  std::vector<CommandOfCall> commands; // of touches.commands, but the host
  std::vector<program::DType> types;   // of touches.touches
  std::vector<uint8_t> findings;       // of touches.touches
  std::vector<FirstBad> found;         // of those that are written
};

} // namespace

Result<NonFiniteOrigin> replay(const ReplayContext &context) {
  return Replayer(context).run();
}

} // namespace stretto::runtime
