//===- ProgramWalk.h - what commands touch ----------------------*- C++ -*-===//
//
// The bytes of slots and of a command's operands in a given call. The Program
// was loaded, so that every index is in its bounds.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_PROGRAMWALK_H
#define STRETTO_PROGRAM_PROGRAMWALK_H

#include "MemoryState.h"

#include "stretto/Program/Walk.h"

namespace stretto {

/// Whether offsets in the two mean the same bytes.
inline bool sharesMemory(program::Region a, program::Region b) {
  return a == b || (runtime::isTransient(a) && runtime::isTransient(b));
}

/// Bytes of one region.
struct MemoryRange {
  program::Region region;
  ByteRange bytes;

  bool overlaps(const MemoryRange &other) const {
    return sharesMemory(region, other.region) && bytes.overlaps(other.bytes);
  }
  bool operator==(const MemoryRange &other) const {
    return region == other.region && bytes == other.bytes;
  }
};

inline MemoryRange rangeOf(const program::Slot &slot) {
  return {slot.region(), {slot.offset(), slot.offset() + slot.bytes()}};
}

/// The bytes of `operand` in `call`.
inline MemoryRange rangeOf(const program::Call &call,
                           const program::Operand &operand) {
  const program::Slot *slot = operand.space() == program::Space::Argument
                                  ? call.arguments()->Get(operand.index())
                                  : call.scratch();
  uint64_t begin = (slot ? slot->offset() : 0) + operand.offset();
  return {slot ? slot->region() : program::Region::Scratch,
          {begin, begin + operand.bytes()}};
}

/// What tells the value in these bytes from others there before and after; 0
/// when the Program does not say. `old`: what an operand finds that it updates.
inline uint64_t valueOf(const program::Call &call,
                        const program::Operand &operand, bool old) {
  if (operand.space() == program::Space::Local)
    return operand.index() + 1 - (old && writes(operand.access()));
  return call.arguments()->Get(operand.index())->value();
}

} // namespace stretto

#endif // STRETTO_PROGRAM_PROGRAMWALK_H
