//===- Schedule.cpp - what is communicated while what is computed ---------===//

#include "stretto/Transforms/Overlap/Schedule.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace stretto;

namespace {

/// A place in the schedule is the number of computations before it: what is
/// issued at place p comes before the p-th computation, counted from 0.
class Scheduler {
public:
  Scheduler(ArrayRef<ScheduledCall> calls,
            std::optional<OverlapOptions> options)
      : calls(calls), overlaps(options),
        options(options.value_or(OverlapOptions{0, 0})), place(calls.size()),
        isIssued(calls.size()) {}

  std::vector<Issue> run() {
    for (auto [index, call] : enumerate(calls))
      if (call.kind == CallKind::Compute)
        computations.push_back(index);
    placeReady();
    placeGathers();
    placeBuckets();
    keepReductionsShort();
    issueAll();
    return std::move(issues);
  }

private:
  bool isCompute(unsigned call) const {
    return calls[call].kind == CallKind::Compute;
  }
  bool isGather(unsigned call) const {
    return calls[call].kind == CallKind::Gather ||
           calls[call].kind == CallKind::GatherOnce;
  }

  /// The earliest places. (Of a computation: its own.)
  void placeReady() {
    unsigned computed = 0;
    for (auto [index, call] : enumerate(calls))
      place[index] = isCompute(index) ? computed++ : earliest(index);
  }
  unsigned earliest(unsigned call) const {
    unsigned at = 0;
    for (unsigned need : calls[call].needs)
      at = std::max(at, place[need] + (isCompute(need) ? 1 : 0));
    return at;
  }

  /// A gather for few passes is issued `prefetch` such passes early.
  void placeGathers() {
    std::vector<unsigned> firstReader(calls.size(), calls.size());
    for (unsigned index = calls.size(); index-- > 0;)
      for (unsigned need : calls[index].needs)
        if (!isCompute(need))
          firstReader[need] = std::min(
              firstReader[need], isCompute(index) ? index : firstReader[index]);
    auto isForPass = [&](unsigned index) {
      return calls[index].kind == CallKind::Gather &&
             firstReader[index] < calls.size();
    };
    std::vector<unsigned> readers; // places of the passes that read gathers
    for (unsigned index = 0; index < calls.size(); ++index)
      if (isForPass(index))
        readers.push_back(place[firstReader[index]]);
    llvm::sort(readers);
    readers.erase(llvm::unique(readers), readers.end());
    for (unsigned index = 0; index < calls.size(); ++index) {
      if (!isForPass(index))
        continue;
      size_t reader =
          lower_bound(readers, place[firstReader[index]]) - readers.begin();
      size_t ahead = std::min<size_t>(reader, options.prefetch);
      place[index] = std::max(earliest(index), readers[reader - ahead]);
    }
  }

  /// Neighbouring reductions are issued together when they have the bytes of a
  /// bucket, or are the last ones.
  void placeBuckets() {
    std::vector<unsigned> bucket;
    uint64_t bytes = 0;
    auto close = [&] {
      for (unsigned call : bucket)
        place[call] = place[bucket.back()];
      if (!bucket.empty())
        buckets.push_back(bucket);
      bucket.clear();
      bytes = 0;
    };
    unsigned before = 0;
    for (auto [index, call] : enumerate(calls)) {
      if (!isCompute(index)) // what it needs may have been put off
        place[index] = std::max(place[index], earliest(index));
      if (call.kind == CallKind::Accumulate)
        buckets.push_back({unsigned(index)});
      if (call.kind != CallKind::Reduce)
        continue;
      // Buckets are issued in order, and a bucket when all of it is ready.
      before = place[index] = std::max(place[index], before);
      bucket.push_back(index);
      bytes += call.bytes;
      if (bytes >= options.bucketBytes)
        close();
    }
    close();
    stable_sort(buckets, [&](const auto &lhs, const auto &rhs) {
      return place[lhs.front()] < place[rhs.front()];
    });
  }

  /// The computation behind an issue waits for a reduction issued before.
  void keepReductionsShort() {
    size_t depth = std::max(1u, options.prefetch);
    waits.resize(computations.size());
    for (size_t i = depth; i < buckets.size(); ++i) {
      unsigned at = place[buckets[i].front()];
      if (overlaps && at < computations.size())
        waits[at] = buckets[i - depth].back();
    }
  }

  /// Needs that have not been issued yet go first, whatever their place.
  void issue(unsigned call) {
    if (isIssued.test(call))
      return;
    isIssued.set(call);
    for (unsigned need : calls[call].needs)
      issue(need);
    if (calls[call].kind == CallKind::Gather && place[call] > 0)
      issue(computations[place[call] - 1]);
    Issue made{call, overlaps && !isCompute(call) ? 1u : 0u, {}};
    if (isCompute(call))
      if (std::optional<unsigned> wait = waits[place[call]]) {
        issue(*wait);
        made.after.push_back(*wait);
      }
    // Nothing else would keep it from running ahead, and its memory from being
    // apart from all others.
    if (overlaps && calls[call].kind == CallKind::Gather && place[call] > 0)
      made.after.push_back(computations[place[call] - 1]);
    issues.push_back(std::move(made));
  }

  void issueAll() {
    std::vector<std::vector<unsigned>> at(computations.size() + 1);
    for (bool gathers : {false, true})
      for (unsigned index = 0; index < calls.size(); ++index)
        if (!isCompute(index) && isGather(index) == gathers)
          at[place[index]].push_back(index);
    for (auto [here, list] : enumerate(at)) {
      for (unsigned call : list)
        issue(call);
      if (here < computations.size())
        issue(computations[here]);
    }
  }

  ArrayRef<ScheduledCall> calls;
  bool overlaps;
  OverlapOptions options;
  std::vector<unsigned> place;
  SmallVector<unsigned> computations;
  std::vector<std::vector<unsigned>> buckets; // in the order of issue
  std::vector<std::optional<unsigned>> waits; // by computation
  BitVector isIssued;
  std::vector<Issue> issues;
};

} // namespace

std::vector<Issue>
stretto::scheduleCalls(ArrayRef<ScheduledCall> calls,
                       std::optional<OverlapOptions> options) {
  return Scheduler(calls, options).run();
}
