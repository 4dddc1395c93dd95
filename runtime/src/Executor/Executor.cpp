//===- Executor.cpp - runs a Program on one rank --------------------------===//

#include "stretto/Runtime/Executor.h"

#include "Expand.h"
#include "Replay.h"
#include "Tensors.h"

#include "stretto/Runtime/Random.h"

#include <ctime>

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

constexpr uint32_t quietNan = 0x7fc00000;

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
    for (size_t i = 0; i < numFunctions(); ++i) {
      STRETTO_ASSIGN(Expansion expansion, expand(context, functionAt(i)));
      functions.push_back(std::move(expansion));
    }
    STRETTO_TRY(checkPlant());
    reserveSpans();
    return device.ready();
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
    const Instruction *failed = nullptr;
    bool traces = isTraced(index, step);
    Status status = options.profile || traces
                        ? run<true>(expansion, failed, traces)
                        : run<false>(expansion, failed, false);
    if (status)
      return status;
    if (!ranks.state()) // another rank failed first and says why itself
      return status;
    status =
        status.within(concat("'", functionAt(index).name()->str(), "' step ",
                             step, ", ", describe(*loaded, *failed)));
    ranks.abort(status);
    return status;
  }

  Result<NonFiniteOrigin> findNonFinite(size_t index, int64_t step) override {
    if (index >= functions.size())
      return failure(Code::Internal, "findNonFinite before initialize");
    STRETTO_TRY(ranks.state());
    Expansion &expansion = functions[index];
    setStep(expansion, step);
    return replay({*loaded, functionAt(index), ranks, expansion, communicators,
                   regions, [&](const Instruction &instruction) {
                     return issue(expansion, instruction);
                   }});
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
    for (const Span &span : spans)
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
    for (const program::Group *group : *loaded->table().groups()) {
      STRETTO_ASSIGN(auto communicator, ranks.connect(loaded->mesh().members(
                                            ranks.rank(), group->axes())));
      communicators.push_back(std::move(communicator));
    }
    return Status::ok();
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
    currentStep = step;
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
    int64_t step;
    double begin, end;
    uint64_t sent;
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
        spans.reserve(size_t(steps) * functions[i].instructions.size());
  }

  TraceSpan describeSpan(const Span &span) const {
    const Instruction &instruction = *span.instruction;
    const ProfileEntry &work = counters.work(instruction.profileRow);
    const program::Call &call = *instruction.call;
    TraceSpan result;
    result.kind = work.kind;
    result.name = work.name;
    result.segment =
        textOf(loaded->table().segments()->Get(call.segment())->name());
    result.instance = textOf(call.instance());
    result.location = textOf(instruction.command->location());
    result.step = span.step;
    result.microbatch = call.microbatch();
    result.call = instruction.callNumber;
    result.stream = instruction.command->stream();
    result.begin = span.begin;
    result.end = span.end;
    result.flops = work.flops;
    result.bytes = instruction.kind == Instruction::Kind::Collective
                       ? span.sent
                       : work.bytes;
    return result;
  }

  template <bool timed>
  Status run(Expansion &expansion, const Instruction *&failed, bool traces) {
    std::optional<Stopwatch> watch;
    if (timed)
      watch.emplace();
    for (const Instruction &instruction : expansion.instructions) {
      if (Status status = issue(expansion, instruction); !status) {
        failed = &instruction;
        return status;
      }
      if (timed) {
        Stopwatch::Lap lap = watch->lap();
        if (options.profile)
          counters.addTime(instruction.profileRow, lap.wall, lap.cpu);
        if (traces)
          spans.push_back({&instruction, currentStep, watch->now() - lap.wall,
                           watch->now(), lastSent});
      }
    }
    return Status::ok();
  }

  Status issue(Expansion &expansion, const Instruction &instruction) {
    void *const *buffers = expansion.buffers.data() + instruction.firstBuffer;
    switch (instruction.kind) {
    case Instruction::Kind::Launch:
      instruction.operation->launch(buffers, expansion.values.data() +
                                                 instruction.firstScalar);
      break;
    case Instruction::Kind::Collective: {
      uint64_t sent = 0;
      STRETTO_TRY(instruction.communicator->run(expansion.tasks.data() +
                                                    instruction.firstTask,
                                                instruction.numTasks, sent));
      counters.addTraffic(instruction.trafficRow, instruction.numTasks, sent);
      lastSent = sent;
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
          options.plant->step == currentStep)
        device.fill(buffers[0], quietNan, sizeof(quietNan));
      break;
    }
    return Status::ok();
  }

  std::shared_ptr<const Program> loaded;
  World &ranks;
  Device &device;
  ExecutorOptions options;
  uint64_t seedValue;
  std::vector<std::unique_ptr<Communicator>> communicators; // by group
  RegionStarts regions = {};
  Counters counters;
  std::vector<Expansion> functions;
  std::vector<Span> spans;
  int64_t currentStep = 0;
  uint64_t lastSent = 0; // by the last collective
};

} // namespace

std::unique_ptr<Executor> createExecutor(std::shared_ptr<const Program> program,
                                         World &world, Device &device,
                                         const ExecutorOptions &options) {
  return std::make_unique<ExecutorImpl>(std::move(program), world, device,
                                        options);
}

} // namespace stretto::runtime
