//===- Adversary.h - the worst that a legal run can do ----------*- C++ -*-===//
//
// For tests of overlapped Programs: an order of all instructions that the
// streams and their waits allow, chosen against the Program and the same on all
// ranks, so that collectives meet; and the bytes of transient regions that hold
// nothing any more after an instruction. A Program without a race gives the
// same bits in every such order, with anything in such bytes.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_ADVERSARY_H
#define STRETTO_RUNTIME_EXECUTOR_ADVERSARY_H

#include "Expand.h"
#include "Tensors.h"

namespace stretto::runtime {

/// Seed 0 prefers the first stream, 1 the last one, others choose at random.
std::vector<uint32_t> adversarialOrder(const Expansion &expansion,
                                       uint64_t seed, int64_t step);

/// Bytes [begin, end) of the transient range hold a value until all `users`
/// (instructions) have run.
struct Death {
  uint64_t begin = 0, end = 0;
  std::vector<uint32_t> users;
};

/// Of all values of a function but those that the host reads after it; a value
/// that its last reader overwrites has none.
std::vector<Death> findDeaths(const Program &program,
                              const program::Function &function,
                              const Expansion &expansion,
                              const RegionStarts &regions);

/// The deaths in one order.
class PoisonPlan {
public:
  PoisonPlan(const std::vector<Death> &deaths,
             const std::vector<uint32_t> &order);
  /// What dies with this instruction.
  const std::vector<const Death *> &after(uint32_t instruction) const {
    return dying[instruction];
  }

private:
  std::vector<std::vector<const Death *>> dying; // by instruction
};

constexpr uint32_t poison = 0x7ff87ff8; // NaN in every floating-point type

/// Bytes of the lines of 64 in [data, data + bytes) that hold anything else.
uint64_t countAlive(const void *data, uint64_t bytes);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_ADVERSARY_H
