//===- Verify.cpp - the static verifier: segments and calls ---------------===//

#include "stretto/Program/Verify.h"

#include "Verifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"
#include <map>
#include <set>

using namespace llvm;
using namespace stretto;

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {
/// What commands do to one argument.
struct ArgumentUse {
  std::vector<ByteRange> written;

  /// Whether the writes cover [0, bytes).
  bool covers(uint64_t bytes) {
    llvm::sort(written, [](ByteRange lhs, ByteRange rhs) {
      return lhs.begin < rhs.begin;
    });
    uint64_t end = 0;
    for (ByteRange range : written) {
      if (range.begin > end)
        return false;
      end = std::max(end, range.end);
    }
    return end >= bytes;
  }
};
} // namespace

/// The two operands of a collective are as long as its sizes say.
static void verifyCollective(const runtime::Program &program,
                             const program::Command &command,
                             const Twine &where, Findings &findings) {
  const program::Collective &collective = *command.payload_as_Collective();
  using Kind = program::CollectiveKind;
  const program::Group &group =
      *program.table().groups()->Get(collective.group());
  uint64_t members = runtime::Mesh::product(group.axes());
  if (members < 2)
    findings.error(where + ": communicates in a group of one");
  uint64_t one = uint64_t(collective.outer()) * collective.inner() *
                 runtime::bytesOf(collective.dtype());
  bool exchange = collective.kind() == Kind::AllToAll;
  if (exchange)
    one *= collective.middle();
  bool wideSource = exchange || collective.kind() == Kind::ReduceScatter;
  bool wideTarget = exchange || collective.kind() == Kind::AllGather;
  uint64_t wanted[] = {wideSource ? one * members : one,
                       wideTarget ? one * members : one};
  for (unsigned i = 0; i < 2; ++i) {
    uint64_t bytes = command.operands()->Get(i)->bytes();
    if (bytes != wanted[i])
      findings.error(where + ": " + (i ? "destination" : "source") + " has " +
                     Twine(bytes) + " bytes, its sizes say " +
                     Twine(wanted[i]) + " (group of " + Twine(members) + ")");
  }
}

/// All launches of a kernel give it the same memory and as many scalars.
static void verifyKernels(const program::Program &program, Findings &findings) {
  std::map<uint32_t, const program::Command *> first;
  for (const program::Segment *segment : all(program.segments()))
    for (const program::Command *command : all(segment->commands())) {
      const program::Launch *launch = command->payload_as_Launch();
      if (!launch)
        continue;
      auto [other, isNew] = first.try_emplace(launch->kernel(), command);
      if (isNew)
        continue;
      const program::Command *known = other->second;
      bool same = count(known->operands()) == count(command->operands()) &&
                  count(known->payload_as_Launch()->scalars()) ==
                      count(launch->scalars());
      for (size_t i = 0; same && i < count(command->operands()); ++i) {
        const program::Operand &a = *known->operands()->Get(i);
        const program::Operand &b = *command->operands()->Get(i);
        same = a.bytes() == b.bytes() && a.access() == b.access();
      }
      if (!same)
        findings.error(text(command->location()) + ": gives kernel '" +
                       text(program.kernels()->Get(launch->kernel())) +
                       "' other operands than " + text(known->location()));
    }
}

/// A kernel works on whole arguments: what it touches is as long as its shapes
/// say, whatever the operand does.
static void verifyLaunch(const program::Segment &segment,
                         const program::Command &command, Findings &findings) {
  for (size_t i = 0; i < count(command.operands()); ++i) {
    const program::Operand &operand = *command.operands()->Get(i);
    if (operand.space() != program::Space::Argument)
      continue;
    uint64_t bytes = segment.arguments()->Get(operand.index())->bytes();
    if (operand.offset() || operand.bytes() != bytes)
      findings.error(text(command.location()) + ": gives a kernel " +
                     Twine(operand.bytes()) + " bytes of argument " +
                     Twine(operand.index()) + " '" +
                     text(segment.arguments()->Get(operand.index())->name()) +
                     "' from " + Twine(operand.offset()) + " on, which has " +
                     Twine(bytes));
  }
}

/// Of every command something remains: it writes an argument, or scratch that a
/// later one reads. Else the command that needed it is missing.
static void verifyUse(const program::Segment &segment, Findings &findings) {
  MemoryState scratch;
  std::vector<bool> useful(count(segment.commands()));
  VectorClock clock = {0};
  for (size_t i = 0; i < useful.size(); ++i) {
    const program::Command &command = *segment.commands()->Get(i);
    Toucher toucher{{0, ++clock[0]}, &clock, int64_t(i)};
    useful[i] = !count(command.operands());
    for (const program::Operand *operand : all(command.operands())) {
      ByteRange range = {operand->offset(),
                         operand->offset() + operand->bytes()};
      if (operand->space() != program::Space::Local)
        useful[i] = useful[i] || writes(operand->access());
      else if (reads(operand->access()))
        for (int64_t writer : scratch.writersOf(range))
          useful[writer] = true;
    }
    for (const program::Operand *operand : all(command.operands()))
      if (operand->space() == program::Space::Local && operand->bytes() &&
          writes(operand->access()))
        (void)scratch.write(
            {operand->offset(), operand->offset() + operand->bytes()}, toucher,
            true);
  }
  for (size_t i = 0; i < useful.size(); ++i)
    if (!useful[i])
      findings.error(text(segment.commands()->Get(i)->location()) +
                     ": nobody reads what it writes");
}

void stretto::verifySegments(const runtime::Program &program,
                             Findings &findings) {
  verifyKernels(program.table(), findings);
  for (const program::Segment *segment : all(program.table().segments())) {
    verifyUse(*segment, findings);
    std::vector<ArgumentUse> uses(count(segment->arguments()));
    for (const program::Command *command : all(segment->commands())) {
      for (const program::Operand *operand : all(command->operands()))
        if (operand->space() == program::Space::Argument &&
            writes(operand->access()))
          uses[operand->index()].written.push_back(
              {operand->offset(), operand->offset() + operand->bytes()});
      if (command->payload_as_Launch())
        verifyLaunch(*segment, *command, findings);
      if (command->payload_as_Collective())
        verifyCollective(program, *command, text(command->location()),
                         findings);
    }
    for (size_t i = 0; i < uses.size(); ++i) {
      const program::Argument &argument = *segment->arguments()->Get(i);
      if (writes(argument.access()) && !uses[i].covers(argument.bytes()))
        findings.error("segment '" + text(segment->name()) +
                       "' does not write all of its argument " + Twine(i) +
                       " '" + text(argument.name()) + "' of " +
                       Twine(argument.bytes()) + " bytes");
    }
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// An input's slot k belongs to micro-batch k.
static void verifyMicrobatch(const program::Function &function,
                             const program::Call &call, const Twine &where,
                             Findings &findings) {
  for (const program::Binding *input : all(function.inputs())) {
    if (count(input->slots()) < 2)
      continue;
    for (size_t k = 0; k < count(input->slots()); ++k)
      for (const program::Slot *slot : all(call.arguments()))
        if (slot->bytes() && int64_t(k) != call.microbatch() &&
            rangeOf(*slot).overlaps(rangeOf(*input->slots()->Get(k))))
          findings.error(where + ": micro-batch " + Twine(call.microbatch()) +
                         " uses slot " + Twine(k) + " of input '" +
                         text(input->name()) + "'");
  }
}

/// Whether `call` is given one slot of an input that has several.
static bool usesSlice(const program::Function &function,
                      const program::Call &call) {
  for (const program::Binding *input : all(function.inputs()))
    for (const program::Slot *slice : all(input->slots()))
      for (const program::Slot *slot : all(call.arguments()))
        if (count(input->slots()) > 1 &&
            rangeOf(*slot).overlaps(rangeOf(*slice)))
          return true;
  return false;
}

/// All micro-batches do the same: where a segment is called for micro-batch
/// k >= 1, the micro-batches call it as often, for the same instances. (Calls
/// outside the loop of micro-batches have number 0.)
static void verifyRepetition(const program::Program &program,
                             const program::Function &function,
                             Findings &findings) {
  using Key = std::pair<uint32_t, StringRef>; // segment, instance
  std::map<int32_t, std::map<Key, unsigned>> calls;
  std::set<uint32_t> repeated;
  for (const program::Call *call : all(function.calls())) {
    ++calls[call->microbatch()][{call->segment(), text(call->instance())}];
    if (call->microbatch() > 0 || usesSlice(function, *call))
      repeated.insert(call->segment());
  }
  int32_t last = calls.empty() ? 0 : calls.rbegin()->first;
  if (last > 0 && int64_t(calls.size()) != int64_t(last) + 1) {
    findings.error("'" + text(function.name()) + "' has calls of " +
                   Twine(calls.size()) + " micro-batches, numbered up to " +
                   Twine(last));
    return;
  }
  for (const auto &[key, number] : calls[0])
    for (int32_t k = 1; k <= last && repeated.count(key.first); ++k)
      if (calls[k][key] != number)
        findings.error("'" + text(function.name()) + "' calls '" +
                       text(program.segments()->Get(key.first)->name()) +
                       "' (" + key.second + ") " + Twine(number) +
                       " times for micro-batch 0 and " + Twine(calls[k][key]) +
                       " times for micro-batch " + Twine(k));
  for (int32_t k = 1; k <= last; ++k)
    for (const auto &[key, number] : calls[k])
      if (number && !calls[0].count(key))
        findings.error("'" + text(function.name()) + "' calls '" +
                       text(program.segments()->Get(key.first)->name()) +
                       "' (" + key.second + ") for micro-batch " + Twine(k) +
                       " and not for micro-batch 0");
}

/// Tensors are where their kind belongs, arguments never in scratch.
static void verifyRegions(const program::Call &call, const Twine &where,
                          Findings &findings) {
  for (const program::Slot *slot : all(call.arguments()))
    if (slot->region() == program::Region::Scratch)
      findings.error(where + ": an argument lies in scratch");
  if (call.scratch() && call.scratch()->bytes() &&
      call.scratch()->region() != program::Region::Scratch)
    findings.error(where + ": its scratch lies in region " +
                   program::EnumNameRegion(call.scratch()->region()));
}

void stretto::verifyCalls(const runtime::Program &program, Findings &findings) {
  for (const program::Function *function : all(program.table().functions())) {
    size_t index = 0;
    for (const program::Call *call : all(function->calls())) {
      const program::Segment &segment = segmentOf(program.table(), *call);
      std::string where =
          ("'" + text(function->name()) + "' call " + Twine(index++) + " of '" +
           text(segment.name()) + "' (" + text(call->instance()) + ")")
              .str();
      for (size_t i = 0; i < count(segment.arguments()); ++i) {
        uint64_t wanted = segment.arguments()->Get(i)->bytes();
        uint64_t got = call->arguments()->Get(i)->bytes();
        if (got != wanted)
          findings.error(where + ": argument " + Twine(i) + " has " +
                         Twine(got) + " bytes, the segment takes " +
                         Twine(wanted));
      }
      if (call->instance_key() != llvm::xxh3_64bits(text(call->instance())))
        findings.error(where + ": its key is not that of its name");
      verifyMicrobatch(*function, *call, where, findings);
      verifyRegions(*call, where, findings);
      if (findings.enough())
        return;
    }
    verifyRepetition(program.table(), *function, findings);
  }
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

LogicalResult stretto::verifyProgram(const runtime::Program &program,
                                     Diagnostics &diagnostics) {
  Findings findings(diagnostics);
  for (auto chapter :
       {verifySegments, verifyCalls, verifyMemory, verifyParameters})
    if (!findings.enough())
      chapter(program, findings);
  return success(findings.number() == 0);
}

LogicalResult stretto::verifyProgram(StringRef bytes,
                                     Diagnostics &diagnostics) {
  auto loaded =
      runtime::Program::load(runtime::Bytes(bytes.data(), bytes.size()));
  if (!loaded)
    return diagnostics.error(SourceLocation(), loaded.message());
  if (failed(verifyProgram(**loaded, diagnostics)))
    return failure();
  return verifyDataFlow(bytes, diagnostics);
}
