//===- MemoryState.cpp - who wrote which bytes when -----------------------===//

#include "MemoryState.h"

#include "llvm/ADT/STLExtras.h"

using namespace stretto;

void MemoryState::cutAt(uint64_t at) {
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

MemoryState::Pieces::iterator MemoryState::cut(ByteRange range) {
  cutAt(range.begin);
  cutAt(range.end);
  // Fill holes, so that readers of never-written bytes are remembered as well.
  uint64_t at = range.begin;
  auto next = pieces.lower_bound(at);
  while (at < range.end) {
    if (next != pieces.end() && next->first == at) {
      at = next->second.end;
      ++next;
      continue;
    }
    uint64_t end =
        next == pieces.end() ? range.end : std::min(range.end, next->first);
    Piece hole;
    hole.end = end;
    pieces.emplace_hint(next, at, hole);
    at = end;
  }
  return pieces.lower_bound(range.begin);
}

void MemoryState::set(ByteRange range, const Toucher &writer, bool asBuffer,
                      uint64_t value) {
  if (range.begin == range.end)
    return;
  auto first = cut(range);
  auto last = pieces.lower_bound(range.end);
  pieces.erase(first, last);
  Piece piece;
  piece.end = range.end;
  piece.written = true;
  piece.asBuffer = asBuffer;
  piece.buffer = range;
  piece.value = value;
  piece.writer = writer.stamp;
  piece.call = writer.call;
  piece.inScratch = writer.inScratch;
  pieces[range.begin] = std::move(piece);
}

Hazard MemoryState::read(ByteRange range, const Toucher &toucher,
                         uint64_t value) {
  Hazard worst = Hazard::None;
  for (auto piece = cut(range);
       piece != pieces.end() && piece->first < range.end; ++piece) {
    Piece &here = piece->second;
    bool isForeign = here.inScratch && here.call != toucher.call;
    if (!here.written || isForeign)
      worst = Hazard::Uninitialized;
    else if (!happenedBefore(here.writer, *toucher.clock))
      worst = Hazard::ReadAfterWrite;
    else if (here.inScratch != toucher.inScratch ||
             (here.asBuffer && (!(here.buffer == range) ||
                                (value && here.value && value != here.value))))
      worst = Hazard::OtherBuffer;
    // A later read of the same stream stands for the earlier ones.
    auto *mine = llvm::find_if(here.readers, [&](Stamp reader) {
      return reader.stream == toucher.stamp.stream;
    });
    if (mine == here.readers.end())
      here.readers.push_back(toucher.stamp);
    else
      *mine = toucher.stamp;
    if (worst != Hazard::None)
      return worst;
  }
  return worst;
}

Hazard MemoryState::write(ByteRange range, const Toucher &toucher,
                          bool asBuffer, uint64_t value) {
  Hazard worst = Hazard::None;
  for (auto piece = cut(range);
       piece != pieces.end() && piece->first < range.end; ++piece) {
    const Piece &here = piece->second;
    if (here.written && !happenedBefore(here.writer, *toucher.clock))
      worst = Hazard::WriteAfterWrite;
    for (Stamp reader : here.readers)
      if (!happenedBefore(reader, *toucher.clock))
        worst = Hazard::WriteAfterRead;
  }
  set(range, toucher, asBuffer, value);
  return worst;
}

llvm::SmallVector<int64_t, 2> MemoryState::writersOf(ByteRange range) {
  llvm::SmallVector<int64_t, 2> calls;
  for (auto piece = cut(range);
       piece != pieces.end() && piece->first < range.end; ++piece)
    if (piece->second.call >= 0)
      calls.push_back(piece->second.call);
  return calls;
}

bool MemoryState::holdsBuffer(ByteRange range) const {
  auto piece = pieces.find(range.begin);
  return piece != pieces.end() && piece->second.written &&
         piece->second.end == range.end && !piece->second.inScratch &&
         (!piece->second.asBuffer || piece->second.buffer == range);
}
