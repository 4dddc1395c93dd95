//===- StreamOrder.cpp - what has ended when a call starts ----------------===//

#include "stretto/Transforms/Overlap/StreamOrder.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace stretto;

/// What has ended when a call has: it, and all before it.
static void learn(StreamClock &known, const StreamClock &before,
                  unsigned stream, unsigned position) {
  for (auto [mine, other] : zip(known, before))
    mine = std::max(mine, other);
  known[stream] = std::max(known[stream], position);
}

unsigned StreamOrder::add(unsigned stream, ArrayRef<unsigned> needed) {
  Call call{stream, 1, StreamClock(numStreams(), 0), {}};
  if (last[stream] != none) {
    const Call &before = calls[last[stream]];
    call.position = before.position + 1;
    learn(call.known, before.known, stream, before.position);
  }
  // Later calls bring more: what they tell need not be waited for again.
  SmallVector<unsigned> order(needed);
  llvm::sort(order, std::greater<unsigned>());
  for (unsigned need : order) {
    const Call &other = calls[need];
    if (other.position <= call.known[other.stream])
      continue;
    call.waits.push_back(need);
    learn(call.known, other.known, other.stream, other.position);
  }
  llvm::sort(call.waits);
  calls.push_back(std::move(call));
  return last[stream] = calls.size() - 1;
}

Span StreamOrder::spanOf(unsigned call) const {
  Span span{calls[call].known, StreamClock(numStreams(), 0)};
  extend(span, call);
  return span;
}

void StreamOrder::extend(Span &span, unsigned call) const {
  unsigned &end = span.end[calls[call].stream];
  end = std::max(end, calls[call].position);
}
