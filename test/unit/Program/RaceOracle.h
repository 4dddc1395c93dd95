//===- RaceOracle.h - races of a Program by brute force ---------*- C++ -*-===//
//
// Every pair of commands of a function is compared: where both touch a byte and
// one writes it, a path of stream order, events and calls to start after must
// lead from one to the other. Quadratic and without clocks: an independent
// opinion on what the static verifier accepts.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_PROGRAM_RACEORACLE_H
#define STRETTO_TEST_UNIT_PROGRAM_RACEORACLE_H

#include "stretto/Runtime/Program.h"
#include "llvm/ADT/BitVector.h"
#include <map>
#include <vector>

namespace stretto::test {

class RaceOracle {
public:
  RaceOracle(const program::Program &program,
             const program::Function &function) {
    if (function.calls())
      for (const program::Call *call : *function.calls())
        add(*program.segments()->Get(call->segment()), *call);
  }

  /// Whether two commands that share a byte have no order.
  bool hasRace() const {
    for (size_t b = 0; b < nodes.size(); ++b)
      for (size_t a = 0; a < b; ++a)
        if (!nodes[b].before.test(a) && conflict(nodes[a], nodes[b]))
          return true;
    return false;
  }

private:
  struct Range {
    int place; // region, all transient ones alike
    uint64_t begin, end;
    bool writes;
  };
  struct Node {
    std::vector<Range> ranges;
    llvm::BitVector before; // nodes with a path to this one, itself included
  };

  static bool conflict(const Node &a, const Node &b) {
    for (const Range &x : a.ranges)
      for (const Range &y : b.ranges)
        if ((x.writes || y.writes) && x.place == y.place && x.begin < y.end &&
            y.begin < x.end)
          return true;
    return false;
  }

  /// A command, or (null) the point on a stream where a call begins there.
  size_t addNode(unsigned stream, std::vector<size_t> others) {
    Node node;
    if (lastOf.count(stream))
      others.push_back(lastOf[stream]);
    node.before.resize(nodes.size() + 1);
    for (size_t other : others)
      node.before |= nodes[other].before;
    node.before.resize(nodes.size() + 1);
    node.before.set(nodes.size());
    nodes.push_back(std::move(node));
    return lastOf[stream] = nodes.size() - 1;
  }

  void add(const program::Segment &segment, const program::Call &call) {
    std::vector<size_t> start, last;
    if (call.after())
      for (uint32_t before : *call.after())
        start.insert(start.end(), ends[before].begin(), ends[before].end());
    std::map<unsigned, size_t> mine; // last node by stream
    mine[call.stream()] = addNode(call.stream(), start);
    std::map<uint32_t, size_t> events;
    if (segment.commands())
      for (const program::Command *command : *segment.commands()) {
        unsigned stream = command->stream() ? command->stream() : call.stream();
        if (!mine.count(stream))
          mine[stream] = addNode(stream, start);
        std::vector<size_t> others;
        if (const auto *wait = command->payload_as_Wait())
          others.push_back(events.at(wait->event()));
        size_t node = mine[stream] = addNode(stream, others);
        if (const auto *record = command->payload_as_Record())
          events[record->event()] = node;
        addRanges(nodes[node], call, *command);
      }
    for (auto [stream, node] : mine)
      last.push_back(node);
    ends.push_back(last);
  }

  static void addRanges(Node &node, const program::Call &call,
                        const program::Command &command) {
    if (!command.operands())
      return;
    for (const program::Operand *operand : *command.operands()) {
      const program::Slot *slot = operand->space() == program::Space::Argument
                                      ? call.arguments()->Get(operand->index())
                                      : call.scratch();
      if (!slot || !operand->bytes())
        continue;
      uint64_t begin = slot->offset() + operand->offset();
      bool transient = runtime::isTransient(slot->region());
      node.ranges.push_back({transient ? -1 : int(slot->region()), begin,
                             begin + operand->bytes(),
                             operand->access() != program::Access::Read});
    }
  }

  std::vector<Node> nodes;
  std::map<unsigned, size_t> lastOf;     // by stream
  std::vector<std::vector<size_t>> ends; // by call
};

} // namespace stretto::test

#endif // STRETTO_TEST_UNIT_PROGRAM_RACEORACLE_H
