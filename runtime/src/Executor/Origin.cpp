//===- Origin.cpp - where a value that is not finite began ----------------===//

#include "Origin.h"

#include <algorithm>

namespace stretto::runtime {

namespace {

struct Range {
  uint64_t begin, end;
};

bool overlap(const Range &range, const Touch &touch) {
  return range.begin < touch.end && touch.begin < range.end;
}

/// Bytes of one rank whose value still needs an explanation.
class Wanted {
public:
  bool includes(const Touch &touch) const {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range &range) {
      return overlap(range, touch);
    });
  }
  void add(const Touch &touch) {
    remove(touch); // each byte once
    if (touch.begin < touch.end)
      ranges.push_back({touch.begin, touch.end});
  }
  void remove(const Touch &touch) {
    std::vector<Range> kept;
    for (const Range &range : ranges) {
      if (!overlap(range, touch)) {
        kept.push_back(range);
        continue;
      }
      if (range.begin < touch.begin)
        kept.push_back({range.begin, touch.begin});
      if (touch.end < range.end)
        kept.push_back({touch.end, range.end});
    }
    ranges = std::move(kept);
  }

private:
  std::vector<Range> ranges;
};

class Tracer {
public:
  Tracer(const Mesh &mesh, const Touches &function,
         const std::vector<uint8_t> &findings)
      : mesh(mesh), function(function), findings(findings),
        wanted(mesh.numRanks()) {}

  OriginSite trace() {
    wantResults();
    for (size_t i = function.commands.size() - 1; i-- > 0;)
      explain(i);
    return origin;
  }

private:
  struct Source {
    int64_t rank;
    size_t touch;
  };

  uint8_t finding(int64_t rank, size_t touch) const {
    return findings[rank * function.touches.size() + touch];
  }
  bool readsBad(const Source &source) const {
    return finding(source.rank, source.touch) & (ReadNan | ReadInfinity);
  }
  template <typename Visit>
  void forTouches(const TouchingCommand &command, Visit visit) const {
    for (size_t i = 0; i < command.numTouches; ++i)
      visit(command.firstTouch + i, function.touches[command.firstTouch + i]);
  }

  void wantResults() {
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      forTouches(function.commands.back(), [&](size_t at, const Touch &touch) {
        if (readsBad({rank, at}))
          wanted[rank].add(touch);
      });
  }

  /// What the wanted results of command `i` come from is wanted from now on.
  void explain(size_t i) {
    const TouchingCommand &command = function.commands[i];
    std::vector<Source> sources, written;
    bool foundHere = false;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      forTouches(command, [&](size_t at, const Touch &touch) {
        if (!touch.writes || !wanted[rank].includes(touch))
          return;
        written.push_back({rank, at});
        uint8_t bad = finding(rank, at) & (WroteNan | WroteInfinity);
        if (!bad || command.isConstant)
          return;
        std::vector<Source> mine = sourcesOf(command, rank, bad & WroteNan);
        if (mine.empty() && !foundHere) {
          origin = {rank, i, at};
          foundHere = true;
        }
        sources.insert(sources.end(), mine.begin(), mine.end());
      });
    // After all ranks were looked at: a sum in place reads what it writes.
    for (const Source &target : written)
      wanted[target.rank].remove(function.touches[target.touch]);
    for (const Source &source : sources)
      wanted[source.rank].add(function.touches[source.touch]);
  }

  /// Operands that are not finite; of a NaN only those with a NaN, if any.
  std::vector<Source> sourcesOf(const TouchingCommand &command, int64_t rank,
                                bool isNan) const {
    std::vector<int64_t> ranks = {rank};
    if (command.isCollective)
      ranks = mesh.members(rank, command.group);
    std::vector<Source> all, nans;
    for (int64_t member : ranks)
      forTouches(command, [&](size_t at, const Touch &touch) {
        if (!touch.reads || !readsBad({member, at}))
          return;
        all.push_back({member, at});
        if (finding(member, at) & ReadNan)
          nans.push_back({member, at});
      });
    return isNan && !nans.empty() ? nans : all;
  }

  const Mesh &mesh;
  const Touches &function;
  const std::vector<uint8_t> &findings;
  std::vector<Wanted> wanted; // by rank
  OriginSite origin;
};

} // namespace

OriginSite findOrigin(const Mesh &mesh, const Touches &function,
                      const std::vector<uint8_t> &findings) {
  return function.commands.empty() ? OriginSite()
                                   : Tracer(mesh, function, findings).trace();
}

} // namespace stretto::runtime
