//===- Group.cpp - where the members of a communicator meet ---------------===//

#include "Group.h"

#include "../../Base/Futex.h"

namespace stretto::runtime {

using Clock = std::chrono::steady_clock;

Group::Group(Job &job, std::vector<int64_t> members)
    : job(job), ranks(std::move(members)), members(new Member[ranks.size()]) {}

Status Group::barrier(int64_t me) {
  if (size() == 1)
    return Status::ok();
  uint32_t before = generation.load(std::memory_order_acquire);
  members[me].arrivals.fetch_add(1, std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < ranks.size())
    return wait(me, before);
  arrived.store(0, std::memory_order_relaxed);
  generation.store(before + 1); // sequentially consistent with `sleepers`
  if (sleepers.load() > 0)
    futexWakeAll(generation);
  return Status::ok();
}

Status Group::wait(int64_t me, uint32_t before) {
  const int spins = job.mayShareCores() ? 0 : spinsBeforeSleep;
  for (int spin = 0; spin < spins; ++spin) {
    if (isOver(before))
      return Status::ok();
    pauseCore();
  }
  Clock::time_point deadline = Clock::now() + job.options().deadline;
  while (!isOver(before)) {
    sleepers.fetch_add(1);
    if (!isOver(before))
      futexWait(generation, before, sleepSlice);
    sleepers.fetch_sub(1);
    if (isOver(before))
      break;
    if (job.aborted())
      return job.reason();
    int64_t missing = firstMissing(me);
    if (missing >= 0 && job.hasLeft(ranks[missing]))
      return giveUp(missing, "ended before the others");
    if (missing >= 0 && Clock::now() > deadline)
      return giveUp(missing, "did not come before the deadline");
  }
  return Status::ok();
}

int64_t Group::firstMissing(int64_t me) const {
  uint64_t mine = members[me].arrivals.load(std::memory_order_relaxed);
  for (int64_t other = 0; other < size(); ++other)
    if (members[other].arrivals.load(std::memory_order_acquire) < mine)
      return other;
  return -1;
}

Status Group::giveUp(int64_t missing, const char *why) {
  Status reason = failure(Code::RunFailed, "rank ", ranks[missing], " ", why,
                          " (group of ", size(), " ranks, waited for up to ",
                          job.options().deadline.count() / 1000.0,
                          " s); STRETTO_DEADLINE=seconds allows more");
  job.abort(reason);
  return job.reason();
}

static bool sameShape(const CollectiveShape &a, const CollectiveShape &b) {
  return a.kind == b.kind && a.reduce == b.reduce && a.dtype == b.dtype &&
         a.outer == b.outer && a.middle == b.middle && a.inner == b.inner;
}

static std::string describe(const CollectiveShape &shape, int64_t members) {
  return concat(EnumNameCollectiveKind(shape.kind), " of ",
                shape.sourceElements(members), " elements");
}

Status Group::checkShapes() const {
  const Member &first = members[0];
  for (int64_t other = 1; other < size(); ++other) {
    const Member &mine = members[other];
    auto differ = [&](const auto &...what) {
      return failure(Code::RunFailed, "rank ", ranks[other],
                     " runs another collective than rank ", ranks[0], ": ",
                     what...);
    };
    if (mine.count != first.count)
      return differ(mine.count, " at a time against ", first.count);
    for (size_t i = 0; i < first.count; ++i)
      if (!sameShape(first.tasks[i].shape, mine.tasks[i].shape))
        return differ(describe(mine.tasks[i].shape, size()), " against ",
                      describe(first.tasks[i].shape, size()));
  }
  return Status::ok();
}

} // namespace stretto::runtime
