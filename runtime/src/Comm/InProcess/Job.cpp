//===- Job.cpp - what the ranks of one process share ----------------------===//

#include "Job.h"

#include "Group.h"

#include <sched.h>

namespace stretto::runtime {

static int64_t usableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

Job::Job(int64_t numRanks, const CommOptions &options)
    : ranks(numRanks), commOptions(options), cores(usableCores()),
      threads(numRanks), left(new std::atomic<bool>[numRanks]()) {}

Job::~Job() = default;

void Job::abort(const Status &reason) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isAborted.load()) {
    abortReason = reason;
    isAborted.store(true, std::memory_order_release);
  }
}

Status Job::reason() const {
  if (!aborted())
    return Status::ok();
  std::lock_guard<std::mutex> lock(mutex);
  return abortReason;
}

std::shared_ptr<Group> Job::group(const std::vector<int64_t> &members,
                                  uint64_t sequence) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Group> &found = groups[{members, sequence}];
  if (!found)
    found = std::make_shared<Group>(*this, members);
  return found;
}

} // namespace stretto::runtime
