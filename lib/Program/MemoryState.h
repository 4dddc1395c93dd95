//===- MemoryState.h - who wrote which bytes when ---------------*- C++ -*-===//
//
// The memory of one region while a function is walked: for every byte its last
// writer and the readers since, as points of vector clocks. Bytes with the same
// history are one piece.
//
// Vector clocks (Fidge 1988, Mattern 1989): a stream counts its commands; it
// knows, of every other stream, up to which command an event made it wait. A
// command at (stream, time) happens before all that know its stream to at least
// that time, whatever the timing of the run.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_MEMORYSTATE_H
#define STRETTO_PROGRAM_MEMORYSTATE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <cstdint>
#include <map>

namespace stretto {

/// The `time`-th command of a stream, from 1; 0 is before the function.
struct Stamp {
  unsigned stream = 0;
  uint64_t time = 0;
};
using VectorClock = llvm::SmallVector<uint64_t, 2>;

inline bool happenedBefore(Stamp stamp, const VectorClock &clock) {
  return stamp.time <= clock[stamp.stream];
}

struct ByteRange {
  uint64_t begin = 0, end = 0;

  bool overlaps(ByteRange other) const {
    return begin < other.end && other.begin < end;
  }
  bool operator==(ByteRange other) const {
    return begin == other.begin && end == other.end;
  }
};

/// `into` knows what `other` does.
inline void join(VectorClock &into, const VectorClock &other) {
  for (size_t i = 0; i < other.size(); ++i)
    into[i] = std::max(into[i], other[i]);
}

/// A command that touches memory.
struct Toucher {
  Stamp stamp;
  const VectorClock *clock; ///< what the command knows, itself included
  int64_t call;
  bool inScratch = false; ///< of its call: nobody else's to read
};

/// What is wrong with an access.
enum class Hazard {
  None,
  Uninitialized,  ///< nothing wrote the bytes, but another call as scratch
  OtherBuffer,    ///< they were written as another buffer or value
  ReadAfterWrite, ///< the writer may still be at work
  WriteAfterRead, ///< a reader may still be at work
  WriteAfterWrite
};

class MemoryState {
public:
  /// Written by the host before the function, as one buffer.
  void initialize(ByteRange range) {
    static const VectorClock nothing;
    set(range, {{}, &nothing, -1}, true, 0);
  }
  /// `value`: the number of what is read, 0 when it has none.
  Hazard read(ByteRange range, const Toucher &toucher, uint64_t value = 0);
  /// `asBuffer`: later reads must be of the same range and of the same value.
  Hazard write(ByteRange range, const Toucher &toucher, bool asBuffer,
               uint64_t value = 0);
  /// Calls whose writes are what `range` holds, each perhaps more than once.
  llvm::SmallVector<int64_t, 2> writersOf(ByteRange range);
  /// Whether all of `range` was written last as this very buffer.
  bool holdsBuffer(ByteRange range) const;

private:
  struct Piece {
    uint64_t end = 0;
    bool written = false;
    bool asBuffer = false;
    ByteRange buffer;   ///< the range that was written
    uint64_t value = 0; ///< and as which value
    Stamp writer;
    int64_t call = -1;
    bool inScratch = false; ///< of the call
    llvm::SmallVector<Stamp, 2> readers;
  };
  using Pieces = std::map<uint64_t, Piece>; // by first byte, no gaps between

  /// Cuts pieces at the borders of `range`; returns the first inside.
  Pieces::iterator cut(ByteRange range);
  void cutAt(uint64_t at);
  void set(ByteRange range, const Toucher &writer, bool asBuffer,
           uint64_t value);

  Pieces pieces;
};

} // namespace stretto

#endif // STRETTO_PROGRAM_MEMORYSTATE_H
