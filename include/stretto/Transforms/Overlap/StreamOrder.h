//===- StreamOrder.h - what has ended when a call starts --------*- C++ -*-===//
//
// Calls on streams: those of one stream run in order, and a call may wait for
// earlier ones on other streams. From what every call must wait for this finds
// the fewest waits that say so, and for every call which others have ended
// before it starts, whatever the timing (vector clocks, Fidge 1988 and Mattern
// 1989; a stream counts its calls).
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_OVERLAP_STREAMORDER_H
#define STRETTO_TRANSFORMS_OVERLAP_STREAMORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace stretto {

/// By stream: how many of its calls, from the first.
using StreamClock = llvm::SmallVector<unsigned, 2>;

/// A stretch of the schedule: from a call that starts to calls that end.
struct Span {
  StreamClock begin; ///< what has ended when the first call starts
  StreamClock end;   ///< up to the last call on every stream

  /// Whether all of this has ended when `other` starts.
  bool isBefore(const Span &other) const {
    for (unsigned stream = 0; stream < end.size(); ++stream)
      if (end[stream] > other.begin[stream])
        return false;
    return true;
  }
};

class StreamOrder {
public:
  explicit StreamOrder(unsigned numStreams) : last(numStreams, none) {}

  /// Appends a call that starts after `needed` (of any stream) have ended;
  /// returns its number.
  unsigned add(unsigned stream, llvm::ArrayRef<unsigned> needed);

  unsigned numStreams() const { return last.size(); }
  unsigned size() const { return calls.size(); }
  unsigned streamOf(unsigned call) const { return calls[call].stream; }
  /// The calls on other streams that `call` waits for: those that it would not
  /// come after anyway.
  llvm::ArrayRef<unsigned> waitsOf(unsigned call) const {
    return calls[call].waits;
  }
  /// The stretch that is this call alone.
  Span spanOf(unsigned call) const;
  /// Extends `span`, which has begun, to the end of `call`.
  void extend(Span &span, unsigned call) const;

private:
  static constexpr unsigned none = ~0u;
  struct Call {
    unsigned stream;
    unsigned position; // within the stream, from 1
    StreamClock known; // what has ended when it starts
    llvm::SmallVector<unsigned, 1> waits;
  };
  std::vector<Call> calls;
  llvm::SmallVector<unsigned, 2> last; // call of every stream
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_OVERLAP_STREAMORDER_H
