//===- Expand.cpp - from calls to instructions ----------------------------===//

#include "Expand.h"

#include "stretto/Runtime/Work.h"

#include <algorithm>

namespace stretto::runtime {

namespace {

template <typename T> uint32_t count(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}
uint32_t sizeOf(const program::Command &command) {
  return count(command.operands());
}

/// Expands the commands of one function into `out`.
class Expander {
public:
  Expander(const ExpandContext &context, std::string function, Expansion &out)
      : context(context), function(std::move(function)), out(out) {
    size_t streams = context.program->table().streams();
    out.streams.resize(streams);
    runs.resize(streams);
    known.assign(streams, std::vector<uint32_t>(streams, 0));
  }

  Status expand(const program::Call &call) {
    const program::Segment &segment =
        *context.program->table().segments()->Get(call.segment());
    scalarContext = {context.rank, call.microbatch(), 0, context.seed,
                     call.instance_key()};
    begin(call);
    for (uint32_t i = 0; i < count(segment.commands()); ++i) {
      const program::Command *command = segment.commands()->Get(i);
      start(call, command, streamOf(call, *command));
      enter(current.stream);
      if (Status status = expandCommand(*command); !status)
        return status.within(describe(*context.program, current));
      if (context.plant && !out.planted)
        plantAfter(*command);
    }
    end();
    return Status::ok();
  }

  /// The function ends when all streams have.
  void finish() {
    current = Instruction();
    current.callNumber = callNumber;
    addWait(countsNow());
  }

private:
  //===--------------------------------------------------------------------===//
  // Streams
  //===--------------------------------------------------------------------===//

  /// Instructions by stream.
  using Counts = std::vector<uint32_t>;

  Counts countsNow() const {
    Counts counts;
    for (const auto &stream : out.streams)
      counts.push_back(uint32_t(stream.size()));
    return counts;
  }

  /// What every command of the call waits for.
  void begin(const program::Call &call) {
    events.clear();
    begun.clear();
    after.assign(out.streams.size(), 0);
    for (uint32_t i = 0; i < count(call.after()); ++i)
      raise(after, ends[call.after()->Get(i)]);
    start(call, nullptr, call.stream());
    enter(call.stream());
  }
  /// The first command of the call on a stream waits there.
  void enter(uint16_t stream) {
    if (std::find(begun.begin(), begun.end(), stream) != begun.end())
      return;
    begun.push_back(stream);
    Instruction command = current;
    current.command = nullptr;
    addWait(after);
    current = command;
  }
  void end() {
    Counts counts(out.streams.size(), 0);
    for (uint16_t stream : begun)
      counts[stream] = uint32_t(out.streams[stream].size());
    ends.push_back(std::move(counts));
    ++callNumber;
  }
  static void raise(Counts &counts, const Counts &others) {
    for (size_t i = 0; i < counts.size(); ++i)
      counts[i] = std::max(counts[i], others[i]);
  }

  void start(const program::Call &call, const program::Command *command,
             uint16_t stream) {
    current = Instruction();
    current.call = &call;
    current.callNumber = callNumber;
    current.command = command;
    current.stream = stream;
  }

  /// On the current stream; not for what it has waited for before.
  void addWait(const Counts &counts) {
    current.kind = Instruction::Kind::Wait;
    current.firstWait = uint32_t(out.waits.size());
    Counts &mine = known[current.stream];
    for (uint16_t other = 0; other < counts.size(); ++other)
      if (other != current.stream && counts[other] > mine[other])
        out.waits.push_back({other, counts[other]});
    raise(mine, counts);
    current.numWaits = uint32_t(out.waits.size()) - current.firstWait;
    if (current.numWaits == 0)
      return;
    work = ProfileEntry();
    finish("wait", "for another stream", 0);
  }

  void add(const Instruction &instruction) {
    out.streams[instruction.stream].push_back(
        uint32_t(out.instructions.size()));
    out.instructions.push_back(instruction);
  }
  /// The last one of the current stream, or null.
  const Instruction *last() const {
    const std::vector<uint32_t> &list = out.streams[current.stream];
    return list.empty() ? nullptr : &out.instructions[list.back()];
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  /// On every rank, so that all group the same collectives; one rank acts.
  void plantAfter(const program::Command &command) {
    const PlantedNan &plant = *context.plant;
    if (textOf(current.call->instance()) != plant.instance)
      return;
    for (uint32_t i = 0; i < sizeOf(command); ++i) {
      const program::Operand &operand = *command.operands()->Get(i);
      if (operand.access() == program::Access::Read ||
          argumentName(*context.program, *current.call, operand) !=
              plant.tensor)
        continue;
      Instruction instruction = current;
      instruction.kind = Instruction::Kind::Plant;
      instruction.firstBuffer = uint32_t(out.buffers.size());
      instruction.bytes = uint64_t(bytesOf(operandType(command, i)));
      out.buffers.push_back(addressOf(operand));
      add(instruction);
      out.planted = true;
      return;
    }
  }

  Status expandCommand(const program::Command &command) {
    current.firstBuffer = uint32_t(out.buffers.size());
    current.firstScalar = uint32_t(out.scalars.size());
    current.instanceKey = current.call->instance_key();
    work = ProfileEntry();
    for (uint32_t i = 0; i < sizeOf(command); ++i) {
      out.buffers.push_back(addressOf(*command.operands()->Get(i)));
      uint64_t bytes = command.operands()->Get(i)->bytes();
      work.bytes += bytes;
      work.largest = std::max(
          work.largest, bytes / uint64_t(bytesOf(operandType(command, i))));
    }
    switch (command.payload_type()) {
    case program::Payload::Launch:
      STRETTO_TRY(add(*command.payload_as_Launch()));
      break;
    case program::Payload::Gemm:
      STRETTO_TRY(add(*command.payload_as_Gemm()));
      break;
    case program::Payload::Attention:
      STRETTO_TRY(add(*command.payload_as_Attention()));
      break;
    case program::Payload::Collective:
      STRETTO_TRY(add(*command.payload_as_Collective(), command));
      break;
    case program::Payload::Fill:
      current.kind = Instruction::Kind::Fill;
      current.pattern = command.payload_as_Fill()->pattern();
      current.bytes = command.operands()->Get(0)->bytes();
      finish("fill", "", 0);
      break;
    case program::Payload::Copy:
      current.kind = Instruction::Kind::Copy;
      current.bytes = command.operands()->Get(0)->bytes();
      finish("copy", "", 0);
      break;
    case program::Payload::Record: {
      Counts &event = events[command.payload_as_Record()->event()];
      event.assign(out.streams.size(), 0);
      event[current.stream] = uint32_t(out.streams[current.stream].size());
      break;
    }
    case program::Payload::Wait:
      addWait(events[command.payload_as_Wait()->event()]);
      break;
    case program::Payload::NONE:
      break;
    }
    return Status::ok();
  }

  Status add(const program::Launch &launch) {
    STRETTO_ASSIGN(current.operation,
                   context.device->prepareKernel(launch.kernel()));
    if (launch.scalars())
      for (const program::Scalar *scalar : *launch.scalars())
        addScalar(scalar);
    finish("kernel",
           context.program->table().kernels()->Get(launch.kernel())->str(), 0);
    return Status::ok();
  }

  Status add(const program::Gemm &gemm) {
    GemmShape shape = GemmShape::of(gemm);
    STRETTO_ASSIGN(current.operation,
                   context.device->prepareGemm(shape, current.stream));
    finish("gemm", nameOf(shape), flopsOf(shape));
    return Status::ok();
  }

  Status add(const program::Attention &attention) {
    AttentionTask task = AttentionTask::of(attention);
    STRETTO_ASSIGN(current.operation,
                   context.device->prepareAttention(task, current.stream));
    current.hasRandomKey = true;
    addScalar(nullptr); // the key's place
    addScalar(attention.head_offset());
    addScalar(attention.batch_offset());
    addScalar(attention.query_offset());
    addScalar(attention.key_offset());
    finish("attention", nameOf(task), flopsOf(task));
    return Status::ok();
  }

  Status add(const program::Collective &collective,
             const program::Command &command) {
    current.kind = Instruction::Kind::Collective;
    current.communicator =
        (*context.communicators)[collective.group() * out.streams.size() +
                                 current.stream]
            .get();
    current.trafficRow = context.counters->trafficRow(
        function, collective.kind(), collective.group(), current.stream);
    CollectiveTask task;
    task.shape = CollectiveShape::of(collective);
    task.source = out.buffers[current.firstBuffer];
    task.target = out.buffers[current.firstBuffer + 1];
    if (task.shape.kind == program::CollectiveKind::Permute)
      task.sender = context.program->mesh().sender(
          context.rank, collective.to(), collective.shift());
    STRETTO_TRY(task.shape.check());
    STRETTO_TRY(checkOverlap(task));
    bool joins = joinsLast(task);
    out.tasks.push_back(task);
    out.taskCommands.push_back({current.call, &command});
    std::string name =
        concat(EnumNameCollectiveKind(collective.kind()), " ",
               EnumNameDType(collective.dtype()), " group ", collective.group(),
               " of ", current.communicator->size());
    if (joins) {
      joinLast(name);
      return Status::ok();
    }
    current.firstTask = uint32_t(out.tasks.size() - 1);
    current.numTasks = 1;
    finish("collective",
           concat(name, ": ", command.operands()->Get(0)->bytes(), " bytes"),
           0);
    runs[current.stream] = work;
    return Status::ok();
  }

  /// Whether the collective can go together with those just before it: of the
  /// same kind and group, and none needs what another one writes.
  bool joinsLast(const CollectiveTask &task) const {
    const Instruction *last = this->last();
    if (!last || last->kind != Instruction::Kind::Collective ||
        last->communicator != current.communicator ||
        last->trafficRow != current.trafficRow ||
        last->firstTask + last->numTasks != out.tasks.size())
      return false;
    for (uint32_t i = 0; i < last->numTasks; ++i) {
      const CollectiveTask &other = out.tasks[last->firstTask + i];
      if (targetOf(other).overlaps(sourceOf(task)) ||
          targetOf(other).overlaps(targetOf(task)) ||
          sourceOf(other).overlaps(targetOf(task)))
        return false;
    }
    return true;
  }
  void joinLast(const std::string &name) {
    Instruction &last = out.instructions[out.streams[current.stream].back()];
    ProfileEntry &run = runs[current.stream];
    ++last.numTasks;
    run.bytes += work.bytes;
    run.largest = std::max(run.largest, work.largest);
    run.name = concat(name, ": ", last.numTasks, " buffers, ", run.bytes / 2,
                      " bytes");
    last.profileRow = context.counters->profileRow(run, current.stream);
  }

  struct Range {
    const char *begin, *end;
    bool overlaps(const Range &other) const {
      return begin < other.end && other.begin < end;
    }
  };
  Range sourceOf(const CollectiveTask &task) const {
    const char *begin = static_cast<const char *>(task.source);
    int64_t n = current.communicator->size();
    return {begin,
            begin + task.shape.sourceElements(n) * bytesOf(task.shape.dtype)};
  }
  Range targetOf(const CollectiveTask &task) const {
    const char *begin = static_cast<const char *>(task.target);
    int64_t n = current.communicator->size();
    return {begin,
            begin + task.shape.targetElements(n) * bytesOf(task.shape.dtype)};
  }

  /// Source and destination are disjoint or, in an AllReduce, the same.
  Status checkOverlap(const CollectiveTask &task) const {
    if (task.source == task.target &&
        task.shape.kind == program::CollectiveKind::AllReduce)
      return Status::ok();
    if (sourceOf(task).overlaps(targetOf(task)))
      return failure(Code::Rejected,
                     "source and destination of a collective overlap");
    return Status::ok();
  }

  void *addressOf(const program::Operand &operand) const {
    const program::Slot *slot =
        operand.space() == program::Space::Argument
            ? current.call->arguments()->Get(operand.index())
            : current.call->scratch();
    if (!slot) // an empty operand of a segment without scratch
      return context.regions[size_t(program::Region::Scratch)];
    return context.regions[size_t(slot->region())] + slot->offset() +
           operand.offset();
  }

  void addScalar(const program::Scalar *scalar) {
    out.scalars.push_back(context.program->fold(scalar, scalarContext));
    ++current.numScalars;
  }

  void finish(const char *kind, const std::string &name, double flops) {
    work.function = function;
    work.kind = kind;
    work.name = name;
    work.flops = flops;
    current.profileRow = context.counters->profileRow(work, current.stream);
    add(current);
  }

  const ExpandContext &context;
  std::string function;
  Expansion &out;
  ScalarContext scalarContext;
  uint32_t callNumber = 0;
  Instruction current;
  ProfileEntry work;                 // the current command's
  std::vector<ProfileEntry> runs;    // of the last collectives of each stream,
                                     // those that go together
  std::map<uint32_t, Counts> events; // of the current call
  std::vector<uint16_t> begun;       // streams of the current call so far
  Counts after;                      // what it starts after
  std::vector<Counts> ends;          // of the calls before
  std::vector<Counts> known;         // by stream, what it has waited for
};

} // namespace

Result<Expansion> expand(const ExpandContext &context,
                         const program::Function &function) {
  Expansion out;
  Expander expander(context, function.name()->str(), out);
  if (function.calls())
    for (const program::Call *call : *function.calls())
      STRETTO_TRY(expander.expand(*call));
  expander.finish();
  out.values.resize(out.scalars.size());
  return out;
}

std::string argumentName(const Program &program, const program::Call &call,
                         const program::Operand &operand) {
  if (operand.space() != program::Space::Argument)
    return std::string();
  const program::Segment &segment =
      *program.table().segments()->Get(call.segment());
  std::string name = textOf(segment.arguments()->Get(operand.index())->name());
  return name.rfind("new ", 0) == 0 ? name.substr(4) : name;
}

std::string describe(const Program &program, const Instruction &instruction) {
  if (!instruction.call)
    return "its end";
  const program::Segment &segment =
      *program.table().segments()->Get(instruction.call->segment());
  return concat("segment '", segment.name()->str(), "' (",
                textOf(instruction.call->instance()), ")",
                instruction.command ? ", " : " at its start",
                instruction.command ? textOf(instruction.command->location())
                                    : "");
}

} // namespace stretto::runtime
