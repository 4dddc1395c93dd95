//===- VerifyMemory.cpp - the static verifier: who touches what when ------===//

#include "Verifier.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace stretto;
using program::Region;

namespace {

StringRef describe(Hazard hazard) {
  switch (hazard) {
  case Hazard::None:
    return "";
  case Hazard::Uninitialized:
    return "reads bytes that nothing wrote";
  case Hazard::OtherBuffer:
    return "reads bytes that were written as another buffer or value";
  case Hazard::ReadAfterWrite:
    return "reads bytes that another stream may still write: an event is "
           "missing";
  case Hazard::WriteAfterRead:
    return "writes bytes that another stream may still read: an event is "
           "missing";
  case Hazard::WriteAfterWrite:
    return "writes bytes that another stream may still write: an event is "
           "missing";
  }
  return "";
}

/// Walks one function command by command.
class FunctionWalk {
public:
  FunctionWalk(const runtime::Program &program,
               const program::Function &function, Findings &findings)
      : program(program.table()), function(function), findings(findings),
        isTrain(text(function.name()) == "train") {
    memory.resize(runtime::numRegions);
    nothing.assign(program.table().streams(), 0);
    clocks.assign(program.table().streams(), nothing);
    ends.reserve(count(function.calls()));
    useful.resize(count(function.calls()));
  }

  void run() {
    initialize();
    for (const program::Call *call : all(function.calls())) {
      begin(*call);
      for (const program::Command *command :
           all(segmentOf(program, *call).commands())) {
        visit(*call, *command);
        if (findings.enough())
          return;
      }
      end(*call);
      ++callIndex;
    }
    checkEnd();
  }

private:
  /// Transient regions are one memory.
  MemoryState &at(const MemoryRange &range) {
    bool shared = runtime::isTransient(range.region);
    return memory[size_t(shared ? Region::Scratch : range.region)];
  }

  /// What each command of the call waits for.
  void begin(const program::Call &call) {
    events.clear();
    begun.clear();
    start = nothing;
    for (uint32_t before : all(call.after()))
      join(start, ends[before]);
    enter(call.stream());
  }
  /// The first command of the call on a stream waits there.
  void enter(unsigned stream) {
    if (llvm::is_contained(begun, stream))
      return;
    begun.push_back(stream);
    join(clocks[stream], start);
  }
  /// A call has ended when its commands have on all their streams.
  void end(const program::Call &call) {
    VectorClock known = clocks[call.stream()];
    for (unsigned stream : begun)
      join(known, clocks[stream]);
    ends.push_back(std::move(known));
  }

  void initialize(const program::Slot *slot) {
    if (slot)
      at(rangeOf(*slot)).initialize(rangeOf(*slot).bytes);
  }

  /// What the host or an earlier function wrote.
  void initialize() {
    for (const program::Binding *input : all(function.inputs()))
      for (const program::Slot *slot : all(input->slots()))
        initialize(slot);
    for (const program::Parameter *parameter : all(program.parameters())) {
      initialize(parameter->parameter());
      for (const program::Slot *slot : all(parameter->moments()))
        initialize(slot);
    }
  }

  void visit(const program::Call &call, const program::Command &command) {
    unsigned stream = streamOf(call, command);
    enter(stream);
    VectorClock &clock = clocks[stream];
    if (const program::Wait *wait = command.payload_as_Wait())
      join(clock, events[wait->event()]);
    Toucher toucher{{stream, ++clock[stream]}, &clock, callIndex};
    if (const program::Record *record = command.payload_as_Record())
      events[record->event()] = clock;
    checkOverlap(call, command);
    bool asBuffer = !command.payload_as_Fill();
    // All reads of a command come before its writes.
    for (const program::Operand *operand : all(command.operands()))
      if (reads(operand->access()) && operand->bytes())
        read(call, command, *operand, toucher);
    for (const program::Operand *operand : all(command.operands()))
      if (writes(operand->access()) && operand->bytes())
        write(call, command, *operand, toucher, asBuffer);
  }

  void read(const program::Call &call, const program::Command &command,
            const program::Operand &operand, const Toucher &toucher) {
    MemoryRange range = rangeOf(call, operand);
    report(at(range).read(range.bytes, placed(toucher, operand),
                          valueOf(call, operand, true)),
           call, command, range);
    markUseful(range);
  }

  static Toucher placed(Toucher toucher, const program::Operand &operand) {
    toucher.inScratch = operand.space() == program::Space::Local;
    return toucher;
  }

  /// The calls that wrote what others need are no waste.
  void markUseful(const MemoryRange &range) {
    for (int64_t writer : at(range).writersOf(range.bytes))
      if (writer != callIndex)
        useful[writer] = true;
  }

  void write(const program::Call &call, const program::Command &command,
             const program::Operand &operand, const Toucher &toucher,
             bool asBuffer) {
    MemoryRange range = rangeOf(call, operand);
    bool kept =
        range.region == Region::Parameters || range.region == Region::Optimizer;
    if (range.region == Region::Inputs)
      report("writes an input of the host", call, command, range);
    else if (kept && !isTrain)
      report("writes what only 'train' may change", call, command, range);
    if (kept || range.region == Region::State)
      useful[callIndex] = true;
    report(at(range).write(range.bytes, placed(toucher, operand), asBuffer,
                           valueOf(call, operand, false)),
           call, command, range);
  }

  /// What a command writes is nothing else that it touches; an all-reduce may
  /// work in place.
  void checkOverlap(const program::Call &call,
                    const program::Command &command) {
    const program::Collective *collective = command.payload_as_Collective();
    bool mayShare =
        collective && collective->kind() == program::CollectiveKind::AllReduce;
    for (size_t i = 0; i < count(command.operands()); ++i)
      for (size_t j = 0; j < i; ++j) {
        const program::Operand &a = *command.operands()->Get(i);
        const program::Operand &b = *command.operands()->Get(j);
        MemoryRange left = rangeOf(call, a), right = rangeOf(call, b);
        if ((!writes(a.access()) && !writes(b.access())) ||
            !left.overlaps(right) || (mayShare && left == right))
          continue;
        report("has overlapping operands, one of them written", call, command,
               left);
      }
  }

  void report(Hazard hazard, const program::Call &call,
              const program::Command &command, const MemoryRange &range) {
    if (hazard != Hazard::None)
      report(describe(hazard), call, command, range);
  }
  void report(StringRef what, const program::Call &call,
              const program::Command &command, const MemoryRange &range) {
    findings.error(
        "'" + text(function.name()) + "' call " + Twine(callIndex) + " (" +
        text(call.instance()) + "), " + text(command.location()) + ": " + what +
        ": " + program::EnumNameRegion(range.region) + " [" +
        Twine(range.bytes.begin) + ", " + Twine(range.bytes.end) + ")");
  }

  void checkEnd() {
    for (const program::Binding *output : all(function.outputs()))
      for (const program::Slot *slot : all(output->slots()))
        checkWritten(*slot, "output", text(output->name()));
    for (const program::Parameter *parameter : all(program.parameters()))
      if (isTrain && parameter->gradient())
        checkWritten(*parameter->gradient(), "gradient of",
                     text(parameter->name()));
    for (size_t i = 0; i < useful.size(); ++i)
      checkUseful(i, *function.calls()->Get(i));
  }

  /// Something must come of every call; else one that needed it is missing.
  void checkUseful(size_t index, const program::Call &call) {
    const program::Segment &segment = segmentOf(program, call);
    if (!useful[index] && count(segment.commands()))
      findings.error("'" + text(function.name()) + "' call " + Twine(index) +
                     " of '" + text(segment.name()) + "' (" +
                     text(call.instance()) + "): nobody reads what it writes");
  }

  void checkWritten(const program::Slot &slot, StringRef what, StringRef name) {
    MemoryRange range = rangeOf(slot);
    markUseful(range);
    if (!at(range).holdsBuffer(range.bytes))
      findings.error(
          "'" + text(function.name()) + "' does not leave " + what + " '" +
          name + "' at " + program::EnumNameRegion(range.region) + " [" +
          Twine(range.bytes.begin) + ", " + Twine(range.bytes.end) + ")");
  }

  const program::Program &program;
  const program::Function &function;
  Findings &findings;
  bool isTrain;
  std::vector<MemoryState> memory; // by region
  VectorClock nothing;
  std::vector<VectorClock> clocks;              // by stream
  std::vector<VectorClock> ends;                // by call that has ended
  VectorClock start;                            // of the current call
  SmallVector<unsigned, 2> begun;               // its streams so far
  llvm::DenseMap<uint32_t, VectorClock> events; // of the current call
  std::vector<bool> useful;                     // by call
  int64_t callIndex = 0;
};

} // namespace

void stretto::verifyMemory(const runtime::Program &program,
                           Findings &findings) {
  for (const program::Function *function : all(program.table().functions()))
    if (!findings.enough())
      FunctionWalk(program, *function, findings).run();
}
