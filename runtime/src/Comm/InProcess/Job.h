//===- Job.h - what the ranks of one process share --------------*- C++ -*-===//
//
// The state of a job: whether and why it was aborted, which ranks have left,
// and the meeting points (Group) of its communicators.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_COMM_INPROCESS_JOB_H
#define STRETTO_RUNTIME_COMM_INPROCESS_JOB_H

#include "stretto/Runtime/Communicator.h"

#include <atomic>
#include <map>
#include <mutex>

namespace stretto::runtime {

class Group;

class Job {
public:
  Job(int64_t numRanks, const CommOptions &options);
  ~Job();

  int64_t size() const { return ranks; }
  const CommOptions &options() const { return commOptions; }
  /// A rank has so many threads more than its first.
  void useThreads(int64_t more) { threads.fetch_add(more); }
  /// Whether the threads outnumber the cores: then a wait does not spin.
  bool mayShareCores() const {
    return threads.load(std::memory_order_relaxed) > cores;
  }

  /// The first call wins; `reason` is what the job ends with.
  void abort(const Status &reason);
  bool aborted() const { return isAborted.load(std::memory_order_acquire); }
  Status reason() const;

  /// The rank's body has returned; nobody may wait for it any more.
  void leave(int64_t rank) { left[rank].store(true); }
  bool hasLeft(int64_t rank) const { return left[rank].load(); }

  /// The `sequence`-th group of these members, made by the first who asks.
  std::shared_ptr<Group> group(const std::vector<int64_t> &members,
                               uint64_t sequence);

private:
  using GroupKey = std::pair<std::vector<int64_t>, uint64_t>;

  int64_t ranks;
  CommOptions commOptions;
  int64_t cores;
  std::atomic<int64_t> threads;
  std::atomic<bool> isAborted{false};
  std::unique_ptr<std::atomic<bool>[]> left;
  mutable std::mutex mutex; // guards what follows
  Status abortReason;
  std::map<GroupKey, std::shared_ptr<Group>> groups;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_COMM_INPROCESS_JOB_H
