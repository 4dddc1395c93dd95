//===- Timeline.cpp - when a step does what, by the cost model ------------===//

#include "stretto/Simulator/Timeline.h"

#include "stretto/Program/Traffic.h"
#include "stretto/Program/Walk.h"
#include "stretto/Runtime/Work.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace stretto;
using program::CollectiveKind;
using runtime::TraceSpan;

namespace {

class Simulation {
public:
  Simulation(const runtime::Program &program, const program::Function &function,
             int64_t rank, const MachineRates &rates)
      : program(program), table(program.table()), function(function),
        rank(rank), rates(rates), clocks(table.streams(), 0.0) {}

  std::vector<TraceSpan> run() {
    for (const program::Call *call : all(function.calls()))
      visit(*call);
    --callNumber;
    for (uint32_t stream = 1; stream < clocks.size(); ++stream)
      waitUntil(0, clocks[stream], {stream}, nullptr);
    return std::move(spans);
  }

private:
  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  void visit(const program::Call &call) {
    double start = 0;
    std::vector<uint32_t> sources;
    for (uint32_t before : all(call.after())) {
      start = std::max(start, ends[before]);
      sources.push_back(table.streams() > 1 ? streamOfCall(before) : 0);
    }
    DenseMap<uint32_t, std::pair<uint32_t, double>> events; // stream, time
    last = nullptr;
    double end = start;
    for (const program::Command *command :
         all(segmentOf(table, call).commands())) {
      uint32_t stream = streamOf(call, *command);
      waitUntil(stream, start, sources, &call);
      if (const program::Record *record = command->payload_as_Record())
        events[record->event()] = {stream, clocks[stream]};
      else if (const program::Wait *wait = command->payload_as_Wait()) {
        auto [source, time] = events.lookup(wait->event());
        waitUntil(stream, time, {source}, &call);
      } else {
        add(call, *command, stream);
      }
      end = std::max(end, clocks[stream]);
    }
    ends.push_back(end);
    ++callNumber;
  }

  uint32_t streamOfCall(uint32_t call) const {
    return function.calls()->Get(call)->stream();
  }

  void waitUntil(uint32_t stream, double time, std::vector<uint32_t> sources,
                 const program::Call *call) {
    if (clocks[stream] >= time)
      return;
    TraceSpan span;
    span.kind = "wait";
    span.name = "for another stream";
    span.waitsFor = std::move(sources);
    place(span, stream, time - clocks[stream], call);
  }

  void place(TraceSpan &span, uint32_t stream, double seconds,
             const program::Call *call) {
    span.stream = stream;
    span.call = callNumber;
    span.step = 1;
    if (call) {
      span.segment = text(segmentOf(table, *call).name()).str();
      span.instance = text(call->instance()).str();
      span.microbatch = call->microbatch();
    }
    span.begin = clocks[stream];
    span.end = clocks[stream] += seconds;
    spans.push_back(std::move(span));
  }

  //===--------------------------------------------------------------------===//
  // Cost
  //===--------------------------------------------------------------------===//

  void add(const program::Call &call, const program::Command &command,
           uint32_t stream) {
    TraceSpan span;
    span.location = text(command.location()).str();
    double moved = 0;
    for (const program::Operand *operand : all(command.operands()))
      moved += double(operand->bytes()) *
               (reads(operand->access()) + writes(operand->access()));
    span.bytes = uint64_t(moved);
    double seconds = describe(command, moved, span);
    last = &command;
    place(span, stream, seconds, &call);
  }

  /// Names the command and says what it takes.
  double describe(const program::Command &command, double moved,
                  TraceSpan &span) {
    if (const program::Gemm *gemm = command.payload_as_Gemm())
      return product("gemm", runtime::GemmShape::of(*gemm), gemm->dtype(),
                     span);
    if (const program::Attention *attention = command.payload_as_Attention())
      return product("attention", runtime::AttentionTask::of(*attention),
                     attention->dtype(), span);
    if (const program::Collective *collective = command.payload_as_Collective())
      return exchange(*collective, span);
    if (const program::Launch *launch = command.payload_as_Launch()) {
      span.kind = "kernel";
      span.name = text(table.kernels()->Get(launch->kernel())).str();
    } else {
      span.kind = command.payload_as_Fill() ? "fill" : "copy";
    }
    return moved / rates.memoryBytes;
  }

  template <typename Shape>
  double product(const char *kind, const Shape &shape, program::DType type,
                 TraceSpan &span) {
    span.kind = kind;
    span.name = runtime::nameOf(shape);
    span.flops = runtime::flopsOf(shape);
    return span.flops /
           (type == program::DType::BF16 ? rates.bf16Flops : rates.flops);
  }

  double exchange(const program::Collective &collective, TraceSpan &span) {
    auto *refs = table.groups()->Get(collective.group())->axes();
    std::vector<program::AxisRef> axes;
    for (const program::AxisRef *ref : all(refs))
      axes.push_back(*ref);
    int64_t members = runtime::Mesh::product(refs);
    span.kind = "collective";
    span.name =
        runtime::concat(program::EnumNameCollectiveKind(collective.kind()), " ",
                        program::EnumNameDType(collective.dtype()), " group ",
                        collective.group(), " of ", members);
    span.cause = text(collective.cause()).str();
    int64_t me = program.mesh().memberIndex(rank, refs);
    int64_t sender =
        collective.kind() == CollectiveKind::Permute
            ? program.mesh().sender(rank, collective.to(), collective.shift())
            : -1;
    span.bytes = bytesSent(collective, members, me, sender);
    return rates.link ? rates.link(axes, roundsOf(collective, members),
                                   double(span.bytes))
                      : 0.0;
  }

  /// Neighbours of one kind and group go together: their rounds are those of
  /// the first.
  int roundsOf(const program::Collective &collective, int64_t members) const {
    const program::Collective *before =
        last ? last->payload_as_Collective() : nullptr;
    if (before && before->kind() == collective.kind() &&
        before->group() == collective.group())
      return 0;
    if (collective.kind() == CollectiveKind::Permute)
      return 1;
    int rounds = int(members) - 1;
    return collective.kind() == CollectiveKind::AllReduce ? 2 * rounds : rounds;
  }

  const runtime::Program &program;
  const program::Program &table;
  const program::Function &function;
  int64_t rank;
  const MachineRates &rates;
  std::vector<double> clocks; // by stream: when it is free
  std::vector<double> ends;   // by call
  std::vector<TraceSpan> spans;
  const program::Command *last = nullptr; // of the call
  uint32_t callNumber = 0;
};

} // namespace

std::vector<TraceSpan> stretto::simulate(const runtime::Program &program,
                                         const program::Function &function,
                                         int64_t rank,
                                         const MachineRates &rates) {
  return Simulation(program, function, rank, rates).run();
}

double stretto::secondsOf(const std::vector<TraceSpan> &spans) {
  double end = 0;
  for (const TraceSpan &span : spans)
    end = std::max(end, span.end);
  return end;
}
