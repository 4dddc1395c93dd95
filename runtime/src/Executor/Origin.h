//===- Origin.h - where a value that is not finite began --------*- C++ -*-===//
//
// A NaN spreads: after one all-reduce every rank has it. Given what every
// command of every rank read and wrote, this goes back from the results of a
// function along the values that explain them, from rank to rank through
// collectives, to the first command that made such a value from finite ones.
// Infinities that nobody suffers from (the maximum over no logits) explain
// nothing and are passed by. Pure data: no memory of a run is looked at.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_ORIGIN_H
#define STRETTO_RUNTIME_EXECUTOR_ORIGIN_H

#include "stretto/Runtime/Mesh.h"

#include <cstddef>
#include <vector>

namespace stretto::runtime {

/// One operand: bytes [begin, end) of the arena, the same on every rank.
struct Touch {
  uint64_t begin, end;
  bool reads, writes;
};

/// What one rank saw in an operand, before and after the command.
enum Finding : uint8_t {
  ReadNan = 1,
  ReadInfinity = 2,
  WroteNan = 4,
  WroteInfinity = 8
};

struct TouchingCommand {
  size_t firstTouch = 0, numTouches = 0;
  bool isCollective = false;
  const AxisRefs *group = nullptr; ///< of a collective
  bool isConstant = false;         ///< a fill: wanted as it is
};

/// All commands of a function in order; the last one stands for the host, which
/// reads the results.
struct Touches {
  std::vector<TouchingCommand> commands;
  std::vector<Touch> touches;
};

struct OriginSite {
  int64_t rank = -1; ///< negative: no command made it
  size_t command = 0, touch = 0;
};

/// `findings[rank * touches.size() + touch]` is a set of Finding bits.
OriginSite findOrigin(const Mesh &mesh, const Touches &function,
                      const std::vector<uint8_t> &findings);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_ORIGIN_H
