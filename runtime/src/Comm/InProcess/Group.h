//===- Group.h - where the members of a communicator meet -------*- C++ -*-===//
//
// One Group is shared by its members. Each posts where its data lies; between
// barriers the members read each other's memory. A wait spins for a moment,
// then sleeps on a futex, and ends with an error when the job is aborted, when
// a member has left, or at the deadline.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_COMM_INPROCESS_GROUP_H
#define STRETTO_RUNTIME_COMM_INPROCESS_GROUP_H

#include "Job.h"

namespace stretto::runtime {

class Group {
public:
  /// What one member shows the others during a collective.
  struct alignas(64) Member {
    const CollectiveTask *tasks = nullptr;
    size_t count = 0;                   ///< of tasks
    std::atomic<uint64_t> arrivals{0};  ///< barriers reached
    std::atomic<uint64_t> readBytes{0}; ///< read from this member by others
  };

  Group(Job &job, std::vector<int64_t> members);

  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  int64_t rankOf(int64_t member) const { return ranks[member]; }
  Member &member(int64_t index) { return members[index]; }
  const CommOptions &options() const { return job.options(); }

  /// Returns when all members have called it as often as `me` has.
  Status barrier(int64_t me);

  /// An error when the posted shapes differ: the members do not run the same
  /// collective. Between two barriers.
  Status checkShapes() const;

private:
  Status wait(int64_t me, uint32_t generationBefore);
  bool isOver(uint32_t generationBefore) const {
    return generation.load(std::memory_order_acquire) != generationBefore;
  }
  /// The first member that has not reached the barrier that `me` waits at.
  int64_t firstMissing(int64_t me) const;
  Status giveUp(int64_t missing, const char *why);

  Job &job;
  std::vector<int64_t> ranks;
  std::unique_ptr<Member[]> members;
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_COMM_INPROCESS_GROUP_H
