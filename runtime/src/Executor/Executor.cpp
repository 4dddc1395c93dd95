//===- Executor.cpp - runs a Program on one rank --------------------------===//

#include "stretto/Runtime/Executor.h"

#include "../Comm/RandomDelay.h"
#include "Adversary.h"
#include "Expand.h"
#include "Replay.h"
#include "Streams.h"
#include "Tensors.h"

#include "stretto/Runtime/Random.h"

#include <ctime>
#include <set>

namespace stretto::runtime {

namespace {

double secondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

/// Time since the last call, by the clock on the wall and of this thread.
class Stopwatch {
public:
  struct Lap {
    double wall, cpu;
  };
  Lap lap() {
    Lap now = read();
    Lap passed = {now.wall - last.wall, now.cpu - last.cpu};
    last = now;
    return passed;
  }
  /// When the last lap ended.
  double now() const { return last.wall; }

private:
  static Lap read() {
    return {secondsOf(CLOCK_MONOTONIC), secondsOf(CLOCK_THREAD_CPUTIME_ID)};
  }
  Lap last = read();
};

constexpr uint32_t quietNan = 0x7fc07fc0; // as f32, and twice as bf16

class ExecutorImpl final : public Executor {
public:
  ExecutorImpl(std::shared_ptr<const Program> program, World &world,
               Device &device, const ExecutorOptions &options)
      : loaded(std::move(program)), ranks(world), device(device),
        options(options), seedValue(0) {
    if (const program::Recipe *recipe = loaded->table().recipe())
      seedValue = recipe->seed();
    if (options.seed)
      seedValue = *options.seed;
  }

  Status prepare() override {
    STRETTO_TRY(checkRanks());
    STRETTO_TRY(compareRanks("another Program", loaded->hash()));
    STRETTO_TRY(compareRanks("other libraries or another processor",
                             xxh3(device.identity()))
                    .within(device.identity()));
    STRETTO_TRY(connectGroups());
    return allocateArena();
  }

  Status initialize(Bytes kernels) override {
    STRETTO_TRY(compareRanks("other kernels", xxh3(kernels)));
    STRETTO_TRY(device.loadKernels(kernels, kernelNames()));
    ExpandContext context;
    context.program = loaded.get();
    context.device = &device;
    context.counters = &counters;
    context.communicators = &communicators;
    context.regions = regions;
    context.rank = ranks.rank();
    context.seed = seedValue;
    context.plant = options.plant ? &*options.plant : nullptr;
    functions.clear();
    deaths.clear();
    for (size_t i = 0; i < numFunctions(); ++i) {
      STRETTO_ASSIGN(Expansion expansion, expand(context, functionAt(i)));
      functions.push_back(std::move(expansion));
      if (options.adversary)
        deaths.push_back(
            findDeaths(*loaded, functionAt(i), functions.back(), regions));
    }
    STRETTO_TRY(checkPlant());
    return startStreams();
  }

  Result<size_t> function(const std::string &name) const override {
    std::string names;
    for (size_t i = 0; i < numFunctions(); ++i) {
      std::string there = functionAt(i).name()->str();
      if (there == name)
        return i;
      names += (names.empty() ? "" : ", ") + there;
    }
    return failure(Code::Rejected, "the Program has no function '", name,
                   "'; it has: ", names.empty() ? "none" : names);
  }

  Status execute(size_t index, int64_t step) override {
    if (index >= functions.size())
      return failure(Code::Internal, "execute before initialize");
    Expansion &expansion = functions[index];
    STRETTO_TRY(ranks.state());
    setStep(expansion, step);
    current = {index, &expansion, step, isTraced(index, step)};
    if (options.adversary)
      return runAdversary();
    runStreams();
    for (const auto &lane : lanes)
      STRETTO_TRY(lane->status);
    return Status::ok();
  }

  Result<NonFiniteOrigin> findNonFinite(size_t index, int64_t step) override {
    if (index >= functions.size())
      return failure(Code::Internal, "findNonFinite before initialize");
    STRETTO_TRY(ranks.state());
    Expansion &expansion = functions[index];
    setStep(expansion, step);
    return replay({*loaded, functionAt(index), ranks, expansion, regions,
                   [&](const Instruction &instruction) {
                     return issue(expansion, instruction);
                   }});
  }

  void plantAt(int64_t step) override {
    if (options.plant)
      options.plant->step = step;
  }

  std::vector<TensorView> inputs(size_t function) const override {
    return viewBindings(*loaded, ranks.rank(), regions,
                        functionAt(function).inputs());
  }
  std::vector<TensorView> outputs(size_t function) const override {
    return viewBindings(*loaded, ranks.rank(), regions,
                        functionAt(function).outputs());
  }
  Result<TensorView> input(size_t function,
                           const std::string &name) const override {
    return findView(inputs(function), "input", name);
  }
  Result<TensorView> output(size_t function,
                            const std::string &name) const override {
    return findView(outputs(function), "output", name);
  }
  std::vector<ParameterView> parameters() const override {
    return viewParameters(*loaded, ranks.rank(), regions);
  }
  void *region(program::Region region) const override {
    return regions[size_t(region)];
  }

  const Program &program() const override { return *loaded; }
  World &world() const override { return ranks; }
  uint64_t seed() const override { return seedValue; }
  uint64_t arenaBytes() const override { return loaded->arenaBytes(); }
  std::vector<ProfileEntry> profile() const override {
    return counters.profileEntries();
  }
  std::vector<TraceSpan> trace() const override {
    std::vector<TraceSpan> result;
    for (const auto &lane : lanes)
      for (const Span &span : lane->spans)
        result.push_back(describeSpan(span));
    return result;
  }
  std::vector<TrafficEntry> traffic() const override {
    return counters.trafficEntries();
  }
  void resetCounters() override { counters.reset(); }

private:
  Status checkRanks() const {
    int64_t wanted = loaded->mesh().numRanks();
    if (ranks.size() != wanted)
      return failure(Code::Usage, "the Program is compiled for ", wanted,
                     " ranks, the job has ", ranks.size(), "; run it with ",
                     wanted);
    return Status::ok();
  }

  /// All ranks must have the same `value`. A collective operation.
  Status compareRanks(const char *what, uint64_t value) const {
    std::vector<uint64_t> all(ranks.size());
    STRETTO_TRY(ranks.everyone().gather(&value, all.data(), sizeof(value)));
    for (size_t rank = 1; rank < all.size(); ++rank)
      if (all[rank] != all[0])
        return failure(Code::RunFailed, "rank ", rank, " has ", what,
                       " than rank 0 (hash ", std::hex, all[rank], " against ",
                       all[0], "); start all ranks from the same executable");
    return Status::ok();
  }

  Status connectGroups() {
    communicators.clear();
    if (!loaded->table().groups())
      return Status::ok();
    std::set<std::pair<uint32_t, uint16_t>> used = groupsOfStreams();
    for (uint32_t group = 0; group < loaded->table().groups()->size(); ++group)
      for (uint16_t stream = 0; stream < numStreams(); ++stream) {
        communicators.emplace_back();
        if (!used.count({group, stream}))
          continue;
        auto *axes = loaded->table().groups()->Get(group)->axes();
        STRETTO_ASSIGN(
            communicators.back(),
            ranks.connect(loaded->mesh().members(ranks.rank(), axes)));
      }
    return Status::ok();
  }

  /// Where collectives run; the same on all ranks.
  std::set<std::pair<uint32_t, uint16_t>> groupsOfStreams() const {
    std::set<std::pair<uint32_t, uint16_t>> used;
    for (size_t i = 0; i < numFunctions(); ++i)
      if (functionAt(i).calls())
        for (const program::Call *call : *functionAt(i).calls())
          addGroups(*call, used);
    return used;
  }
  void addGroups(const program::Call &call,
                 std::set<std::pair<uint32_t, uint16_t>> &used) const {
    auto *commands =
        loaded->table().segments()->Get(call.segment())->commands();
    if (!commands)
      return;
    for (const program::Command *command : *commands)
      if (const auto *collective = command->payload_as_Collective())
        used.insert({collective->group(), streamOf(call, *command)});
  }

  unsigned numStreams() const { return loaded->table().streams(); }

  /// Up to the last one that has anything to do.
  unsigned numThreads() const {
    unsigned threads = 1;
    for (const Expansion &expansion : functions)
      for (unsigned stream = 1; stream < numStreams(); ++stream)
        if (!expansion.streams[stream].empty())
          threads = std::max(threads, stream + 1);
    return options.adversary ? 1 : threads;
  }

  Status startStreams() {
    lanes.clear();
    for (unsigned stream = 0; stream < numStreams(); ++stream)
      lanes.push_back(std::make_unique<Lane>(RandomDelay(
          ranks.options(), random::mix(uint64_t(ranks.rank())) + stream)));
    reserveSpans();
    streams = std::make_unique<Streams>(ranks);
    return streams->start(
        numThreads(), [this](unsigned stream) { return ready(stream); },
        [this](unsigned stream) { runStream(stream); });
  }

  /// The adversary issues what all streams do from one thread.
  Status ready(unsigned stream) {
    for (unsigned other = 1; options.adversary && other < numStreams(); ++other)
      STRETTO_TRY(device.ready(other));
    return device.ready(stream);
  }

  Status allocateArena() {
    STRETTO_ASSIGN(void *arena, device.allocate(arenaBytes()));
    for (size_t i = 0; i < numRegions; ++i)
      regions[i] =
          static_cast<char *>(arena) + loaded->regionStart(program::Region(i));
    return Status::ok();
  }

  std::vector<std::string> kernelNames() const {
    std::vector<std::string> names;
    if (loaded->table().kernels())
      for (const flatbuffers::String *name : *loaded->table().kernels())
        names.push_back(name->str());
    return names;
  }

  size_t numFunctions() const {
    auto *table = loaded->table().functions();
    return table ? table->size() : 0;
  }
  const program::Function &functionAt(size_t index) const {
    return *loaded->table().functions()->Get(uint32_t(index));
  }

  Status checkPlant() const {
    if (!options.plant)
      return Status::ok();
    for (const Expansion &expansion : functions)
      if (expansion.planted)
        return Status::ok();
    return failure(Code::Usage, "nothing writes '", options.plant->tensor,
                   "' of '", options.plant->instance,
                   "'; `stretto disasm` shows the arguments of segments");
  }

  void setStep(Expansion &expansion, int64_t step) {
    current.step = step;
    for (size_t i = 0; i < expansion.scalars.size(); ++i)
      expansion.values[i] = expansion.scalars[i].at(step);
    for (const Instruction &instruction : expansion.instructions)
      if (instruction.hasRandomKey)
        expansion.values[instruction.firstScalar] = int64_t(
            random::key(seedValue, uint64_t(step), instruction.instanceKey));
  }

  /// One instruction as it ran; made into words afterwards.
  struct Span {
    const Instruction *instruction;
    const Expansion *expansion;
    int64_t step;
    double begin, end;
    uint64_t sent;
    uint64_t alive = 0; // measured by the adversary
  };

  /// What belongs to the thread of one stream.
  struct alignas(64) Lane {
    explicit Lane(RandomDelay delay) : delay(delay) {}
    RandomDelay delay;
    std::vector<Span> spans;
    Status status; // of the current run
  };

  /// What all streams run.
  struct Run {
    size_t function = 0;
    Expansion *expansion = nullptr;
    int64_t step = 0;
    bool traces = false;
  };

  bool isTraced(size_t index, int64_t step) const {
    return step >= options.traceFrom && step <= options.traceTo &&
           functionAt(index).name()->str() == "train";
  }

  /// So that the steps allocate nothing.
  void reserveSpans() {
    int64_t steps = options.traceTo - options.traceFrom + 1;
    for (size_t i = 0; steps > 0 && i < functions.size(); ++i)
      if (isTraced(i, options.traceTo))
        for (size_t stream = 0; stream < lanes.size(); ++stream)
          lanes[stream]->spans.reserve(size_t(steps) *
                                       functions[i].streams[stream].size());
  }

  TraceSpan describeSpan(const Span &span) const {
    const Instruction &instruction = *span.instruction;
    const ProfileEntry &work = counters.work(instruction.profileRow);
    TraceSpan result;
    result.kind = work.kind;
    result.name = work.name;
    if (const program::Call *call = instruction.call) {
      result.segment =
          textOf(loaded->table().segments()->Get(call->segment())->name());
      result.instance = textOf(call->instance());
      result.microbatch = call->microbatch();
    }
    if (const program::Command *command = instruction.command) {
      result.location = textOf(command->location());
      if (auto *collective = command->payload_as_Collective())
        result.cause = textOf(collective->cause());
    }
    for (uint32_t i = 0; i < instruction.numWaits; ++i)
      result.waitsFor.push_back(
          span.expansion->waits[instruction.firstWait + i].stream);
    result.step = span.step;
    result.call = instruction.callNumber;
    result.stream = instruction.stream;
    result.begin = span.begin;
    result.end = span.end;
    result.flops = work.flops;
    result.alive = span.alive;
    result.bytes = instruction.kind == Instruction::Kind::Collective
                       ? span.sent
                       : work.bytes;
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Running
  //===--------------------------------------------------------------------===//

  void runStreams() {
    const Expansion &expansion = *current.expansion;
    streams->reset();
    for (unsigned stream = 1; stream < lanes.size(); ++stream) {
      lanes[stream]->status = Status::ok();
      if (!expansion.streams[stream].empty())
        streams->begin(stream);
    }
    runStream(0);
    for (unsigned stream = 1; stream < lanes.size(); ++stream)
      if (!expansion.streams[stream].empty())
        streams->finish(stream);
  }

  /// By the thread of the stream.
  void runStream(unsigned stream) {
    bool timed = options.profile || current.traces;
    lanes[stream]->status =
        timed ? runStream<true>(stream) : runStream<false>(stream);
  }

  template <bool timed> Status runStream(unsigned stream) {
    std::optional<Stopwatch> watch;
    if (timed)
      watch.emplace();
    uint32_t done = 0;
    for (uint32_t index : current.expansion->streams[stream]) {
      const Instruction &instruction = current.expansion->instructions[index];
      STRETTO_TRY(runOne<timed>(instruction, watch));
      if (lanes.size() > 1)
        streams->advance(stream, ++done);
    }
    return Status::ok();
  }

  template <bool timed>
  Status runOne(const Instruction &instruction,
                std::optional<Stopwatch> &watch) {
    uint64_t sent = 0;
    Status status = instruction.kind == Instruction::Kind::Wait
                        ? wait(instruction)
                        : issue(*current.expansion, instruction, &sent);
    if (!status)
      return giveUp(status, instruction);
    if (!timed)
      return status;
    Stopwatch::Lap lap = watch->lap();
    if (options.profile)
      counters.addTime(instruction.profileRow, lap.wall, lap.cpu);
    if (current.traces)
      lanes[instruction.stream]->spans.push_back(
          {&instruction, current.expansion, current.step,
           watch->now() - lap.wall, watch->now(), sent});
    return status;
  }

  /// The job ends, unless another rank failed first and says why itself.
  Status giveUp(Status status, const Instruction &failed) {
    if (!ranks.state())
      return status;
    status = status.within(
        concat("'", functionAt(current.function).name()->str(), "' step ",
               current.step, ", ", describe(*loaded, failed)));
    ranks.abort(status);
    return status;
  }

  Status wait(const Instruction &instruction) {
    if (options.adversary) // the order of the instructions sees to it
      return Status::ok();
    for (uint32_t i = 0; i < instruction.numWaits; ++i) {
      const StreamWait &other =
          current.expansion->waits[instruction.firstWait + i];
      STRETTO_TRY(streams->await(other.stream, other.count));
    }
    lanes[instruction.stream]->delay.sleep();
    return Status::ok();
  }

  /// In the worst of the legal orders, with NaN in all bytes that hold nothing.
  Status runAdversary() {
    std::optional<Stopwatch> watch(std::in_place);
    const Expansion &expansion = *current.expansion;
    char *transient = regions[size_t(program::Region::Scratch)];
    device.fill(transient, poison, loaded->transientBytes());
    std::vector<uint32_t> order =
        adversarialOrder(expansion, *options.adversary, current.step);
    PoisonPlan plan(deaths[current.function], order);
    for (uint32_t index : order) {
      const Instruction &instruction = expansion.instructions[index];
      STRETTO_TRY(runOne<true>(instruction, watch));
      if (current.traces && instruction.command)
        lanes[instruction.stream]->spans.back().alive =
            countAlive(transient, loaded->transientBytes());
      for (const Death *death : plan.after(index))
        device.fill(transient + death->begin, poison,
                    death->end - death->begin);
    }
    return Status::ok();
  }

  /// Anything but a wait; `sent` receives the bytes that a collective sent.
  Status issue(Expansion &expansion, const Instruction &instruction,
               uint64_t *sent = nullptr) {
    void *const *buffers = expansion.buffers.data() + instruction.firstBuffer;
    switch (instruction.kind) {
    case Instruction::Kind::Launch:
      instruction.operation->launch(buffers, expansion.values.data() +
                                                 instruction.firstScalar);
      break;
    case Instruction::Kind::Collective: {
      uint64_t bytes = 0;
      STRETTO_TRY(instruction.communicator->run(expansion.tasks.data() +
                                                    instruction.firstTask,
                                                instruction.numTasks, bytes));
      counters.addTraffic(instruction.trafficRow, instruction.numTasks, bytes);
      if (sent)
        *sent = bytes;
      break;
    }
    case Instruction::Kind::Fill:
      device.fill(buffers[0], instruction.pattern, instruction.bytes);
      break;
    case Instruction::Kind::Copy:
      device.copy(buffers[1], buffers[0], instruction.bytes);
      break;
    case Instruction::Kind::Plant:
      if (options.plant->rank == ranks.rank() &&
          options.plant->step == current.step)
        device.fill(buffers[0], quietNan, instruction.bytes);
      break;
    case Instruction::Kind::Wait:
      break;
    }
    return Status::ok();
  }

  std::shared_ptr<const Program> loaded;
  World &ranks;
  Device &device;
  ExecutorOptions options;
  uint64_t seedValue;
  std::vector<std::unique_ptr<Communicator>> communicators; // by group, stream
  RegionStarts regions = {};
  Counters counters;
  std::vector<Expansion> functions;
  std::vector<std::vector<Death>> deaths; // by function, for the adversary
  Run current;
  std::vector<std::unique_ptr<Lane>> lanes; // by stream
  std::unique_ptr<Streams> streams;         // last: its threads use the rest
};

} // namespace

std::unique_ptr<Executor> createExecutor(std::shared_ptr<const Program> program,
                                         World &world, Device &device,
                                         const ExecutorOptions &options) {
  return std::make_unique<ExecutorImpl>(std::move(program), world, device,
                                        options);
}

} // namespace stretto::runtime
