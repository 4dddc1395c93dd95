//===- Adversary.cpp - the worst that a legal run can do ------------------===//

#include "Adversary.h"

#include "stretto/Runtime/Random.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

namespace stretto::runtime {

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

class OrderFinder {
public:
  OrderFinder(const Expansion &expansion, uint64_t seed, int64_t step)
      : expansion(expansion), seed(seed),
        key(random::mix(seed ^ random::mix(uint64_t(step)))),
        done(expansion.streams.size(), 0) {}

  std::vector<uint32_t> run() {
    std::vector<uint32_t> order;
    while (order.size() < expansion.instructions.size()) {
      std::vector<size_t> ready;
      for (size_t stream = 0; stream < done.size(); ++stream)
        if (isReady(stream))
          ready.push_back(stream);
      if (ready.empty()) // not in a Program that loads
        break;
      size_t stream = choose(ready);
      order.push_back(expansion.streams[stream][done[stream]++]);
    }
    return order;
  }

private:
  bool isReady(size_t stream) const {
    const std::vector<uint32_t> &list = expansion.streams[stream];
    if (done[stream] == list.size())
      return false;
    const Instruction &next = expansion.instructions[list[done[stream]]];
    for (uint32_t i = 0; i < next.numWaits; ++i) {
      const StreamWait &wait = expansion.waits[next.firstWait + i];
      if (done[wait.stream] < wait.count)
        return false;
    }
    return true;
  }
  size_t choose(const std::vector<size_t> &ready) {
    if (seed == 0)
      return ready.front();
    if (seed == 1)
      return ready.back();
    return ready[random::mix(key + ++draws) % ready.size()];
  }

  const Expansion &expansion;
  uint64_t seed, key, draws = 0;
  std::vector<uint32_t> done; // instructions, by stream
};

} // namespace

std::vector<uint32_t> adversarialOrder(const Expansion &expansion,
                                       uint64_t seed, int64_t step) {
  return OrderFinder(expansion, seed, step).run();
}

//===----------------------------------------------------------------------===//
// Deaths
//===----------------------------------------------------------------------===//

namespace {

constexpr uint32_t theHost = UINT32_MAX; // a user that comes last

/// Walks a function in the order of the Program with the values in its bytes.
class DeathFinder {
public:
  DeathFinder(const Program &program, const program::Function &function,
              const Expansion &expansion, const RegionStarts &regions)
      : program(program), function(function), expansion(expansion),
        start(regions[size_t(program::Region::Scratch)]),
        bytes(program.transientBytes()) {}

  std::vector<Death> run() {
    for (uint32_t i = 0; i < expansion.instructions.size(); ++i)
      visit(i);
    keepForHost();
    for (auto &[begin, piece] : pieces)
      if (!isUsedBy(piece, theHost))
        die(begin, piece);
    return std::move(deaths);
  }

private:
  struct Piece {
    uint64_t end = 0;
    std::vector<uint32_t> users;
  };
  struct Bytes {
    uint64_t begin, end;
  };

  static bool isUsedBy(const Piece &piece, uint32_t user) {
    return std::find(piece.users.begin(), piece.users.end(), user) !=
           piece.users.end();
  }
  void die(uint64_t begin, const Piece &piece) {
    deaths.push_back({begin, piece.end, piece.users});
  }

  void visit(uint32_t index) {
    const Instruction &instruction = expansion.instructions[index];
    if (instruction.kind != Instruction::Kind::Collective) {
      if (instruction.kind != Instruction::Kind::Plant && instruction.command)
        visit(index, *instruction.command,
              expansion.buffers.data() + instruction.firstBuffer);
      return;
    }
    for (uint32_t i = 0; i < instruction.numTasks; ++i) {
      const CollectiveTask &task = expansion.tasks[instruction.firstTask + i];
      void *const buffers[] = {const_cast<void *>(task.source), task.target};
      visit(index, *expansion.taskCommands[instruction.firstTask + i].command,
            buffers);
    }
  }

  /// All reads come before the writes.
  void visit(uint32_t index, const program::Command &command,
             void *const *buffers) {
    if (!command.operands())
      return;
    for (uint32_t i = 0; i < command.operands()->size(); ++i)
      if (command.operands()->Get(i)->access() != program::Access::Write)
        use(rangeOf(buffers[i], command.operands()->Get(i)->bytes()), index);
    for (uint32_t i = 0; i < command.operands()->size(); ++i)
      if (command.operands()->Get(i)->access() != program::Access::Read)
        write(rangeOf(buffers[i], command.operands()->Get(i)->bytes()), index);
  }

  /// Empty for what is not transient.
  Bytes rangeOf(const void *data, uint64_t size) const {
    int64_t offset = static_cast<const char *>(data) - start;
    if (offset < 0 || uint64_t(offset) >= bytes)
      return {0, 0};
    return {uint64_t(offset), uint64_t(offset) + size};
  }

  void cutAt(uint64_t at) {
    auto after = pieces.upper_bound(at);
    if (after == pieces.begin())
      return;
    auto piece = std::prev(after);
    if (piece->first == at || piece->second.end <= at)
      return;
    Piece upper = piece->second;
    piece->second.end = at;
    pieces.emplace(at, std::move(upper));
  }
  void use(Bytes range, uint32_t user) {
    cutAt(range.begin);
    cutAt(range.end);
    for (auto piece = pieces.lower_bound(range.begin);
         piece != pieces.end() && piece->first < range.end; ++piece)
      if (!isUsedBy(piece->second, user))
        piece->second.users.push_back(user);
  }
  void write(Bytes range, uint32_t writer) {
    if (range.begin == range.end)
      return;
    cutAt(range.begin);
    cutAt(range.end);
    auto first = pieces.lower_bound(range.begin),
         last = pieces.lower_bound(range.end);
    for (auto piece = first; piece != last; ++piece)
      if (!isUsedBy(piece->second, writer))
        die(piece->first, piece->second);
    pieces.erase(first, last);
    pieces[range.begin] = {range.end, {writer}};
  }

  void keepForHost() {
    if (function.outputs())
      for (const program::Binding *output : *function.outputs())
        for (const program::Slot *slot : *output->slots())
          keep(slot);
    if (function.name()->string_view() == "train" &&
        program.table().parameters())
      for (const program::Parameter *parameter : *program.table().parameters())
        keep(parameter->gradient());
  }
  void keep(const program::Slot *slot) {
    if (slot && isTransient(slot->region()))
      use({slot->offset(), slot->offset() + slot->bytes()}, theHost);
  }

  const Program &program;
  const program::Function &function;
  const Expansion &expansion;
  const char *start;
  uint64_t bytes;
  std::map<uint64_t, Piece> pieces; // by first byte
  std::vector<Death> deaths;
};

} // namespace

std::vector<Death> findDeaths(const Program &program,
                              const program::Function &function,
                              const Expansion &expansion,
                              const RegionStarts &regions) {
  return DeathFinder(program, function, expansion, regions).run();
}

PoisonPlan::PoisonPlan(const std::vector<Death> &deaths,
                       const std::vector<uint32_t> &order)
    : dying(order.size()) {
  std::vector<uint32_t> place(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    place[order[i]] = i;
  for (const Death &death : deaths) {
    uint32_t last = *std::max_element(
        death.users.begin(), death.users.end(),
        [&](uint32_t a, uint32_t b) { return place[a] < place[b]; });
    dying[last].push_back(&death);
  }
}

uint64_t countAlive(const void *data, uint64_t bytes) {
  constexpr uint64_t line = 64;
  const auto *words = static_cast<const uint32_t *>(data);
  uint64_t alive = 0;
  for (uint64_t begin = 0; begin < bytes; begin += line) {
    uint64_t end = std::min(begin + line, bytes);
    uint32_t differs = 0;
    for (uint64_t at = begin; at < end; at += sizeof(uint32_t))
      differs |= words[at / sizeof(uint32_t)] ^ poison;
    alive += differs ? end - begin : 0;
  }
  return alive;
}

//===----------------------------------------------------------------------===//
// Asking for it
//===----------------------------------------------------------------------===//

Result<ExecutorOptions> ExecutorOptions::fromEnvironment() {
  ExecutorOptions options;
  const char *text = std::getenv("STRETTO_ADVERSARY");
  if (!text)
    return options;
  char *rest = nullptr;
  errno = 0;
  options.adversary = std::strtoull(text, &rest, 10);
  if (*text < '0' || *text > '9' || *rest || errno == ERANGE)
    return failure(Code::Usage, "STRETTO_ADVERSARY='", text,
                   "' is not a seed, a whole number below 2^64");
  return options;
}

} // namespace stretto::runtime
