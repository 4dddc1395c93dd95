//===- MeasuredMemory.cpp - what a run found alive ------------------------===//

#include "MeasuredMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace stretto;

namespace {
/// A slice of the trace, in microseconds.
struct Slice {
  double begin = 0, end = 0;
  StringRef name;
  int64_t alive = 0; // of a command
};
} // namespace

/// Calls and measured commands of the rank, each in order of time.
static Error readSlices(const json::Value &trace, int64_t rank,
                        std::vector<Slice> &calls,
                        std::vector<Slice> &commands) {
  const json::Object *top = trace.getAsObject();
  const json::Array *events = top ? top->getArray("traceEvents") : nullptr;
  if (!events)
    return createStringError("it is no trace: no 'traceEvents'");
  for (const json::Value &value : *events) {
    const json::Object *event = value.getAsObject();
    if (!event || event->getString("ph") != "X" ||
        event->getInteger("pid") != rank)
      continue;
    double begin = event->getNumber("ts").value_or(0);
    Slice slice{begin, begin + event->getNumber("dur").value_or(0),
                event->getString("name").value_or(""), 0};
    const json::Object *args = event->getObject("args");
    if (event->getString("cat") == "call")
      calls.push_back(slice);
    else if (args && (slice.alive = args->getInteger("alive").value_or(0)))
      commands.push_back(slice);
  }
  auto earlier = [](const Slice &a, const Slice &b) {
    return a.begin < b.begin;
  };
  llvm::stable_sort(calls, earlier);
  llvm::stable_sort(commands, earlier);
  if (commands.empty())
    return createStringError(
        "it counts nothing alive on rank " + Twine(rank) +
        "; run one step with STRETTO_ADVERSARY=0 and --trace-steps 1");
  return Error::success();
}

static uint64_t restingBytes(const MemoryMoment &moment) {
  uint64_t bytes = 0;
  for (size_t region = 0; region < runtime::numRegions; ++region)
    if (!runtime::isTransient(program::Region(region)))
      bytes += moment.bytes[region];
  return bytes;
}

Expected<std::vector<uint64_t>>
driver::measuredMemory(StringRef trace, int64_t rank,
                       ArrayRef<MemoryMoment> curve) {
  Expected<json::Value> parsed = json::parse(trace);
  if (!parsed)
    return parsed.takeError();
  std::vector<Slice> calls, commands;
  if (Error error = readSlices(*parsed, rank, calls, commands))
    return std::move(error);
  constexpr double rounding = 0.01; // of the trace's times
  std::vector<uint64_t> measured;
  size_t next = 0, command = 0;
  uint64_t most = 0;
  for (const MemoryMoment &moment : curve) {
    std::string name = moment.instance + " " + moment.segment;
    if (next < calls.size() && calls[next].name == name) {
      most = 0;
      double end = calls[next++].end + rounding;
      for (; command < commands.size() && commands[command].end <= end;
           ++command)
        most = std::max(most, uint64_t(commands[command].alive));
    }
    measured.push_back(most + restingBytes(moment));
  }
  if (next != calls.size())
    return createStringError(
        "it is of another Program, or not of one step: call " + Twine(next) +
        " is '" + calls[next].name +
        "'; trace an executable of this plan "
        "with 'overlap: none'");
  return measured;
}
