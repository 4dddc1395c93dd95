//===- InProcess.cpp - ranks as threads of one process --------------------===//
//
// Collectives are direct: a member reads what it needs from the memory of the
// others. An all-reduce is cut into slices [k*E/n, (k+1)*E/n) of its E
// elements: member k reduces slice k over all members, then all copy the
// others' slices. It sends E - slice + (n-1)*slice elements; 2(n-1)/n E when n
// divides E.
//
//===----------------------------------------------------------------------===//

#include "stretto/Runtime/InProcess.h"

#include "../RandomDelay.h"
#include "../Reduce.h"
#include "Group.h"

#include "stretto/Runtime/Program.h"

#include <cstring>
#include <exception>
#include <thread>

namespace stretto::runtime {

using program::CollectiveKind;

namespace {

class InProcessCommunicator final : public Communicator {
public:
  InProcessCommunicator(std::shared_ptr<Group> shared, int64_t me)
      : group(std::move(shared)), me(me), inputs(group->size()),
        delay(group->options(), uint64_t(group->rankOf(me))) {}

  int64_t size() const override { return group->size(); }
  int64_t memberIndex() const override { return me; }
  Status barrier() override { return group->barrier(me); }

  Status run(const CollectiveTask *tasks, size_t count,
             uint64_t &sentBytes) override {
    // What is wrong here only is found before the others count on this member.
    for (size_t i = 0; i < count; ++i)
      STRETTO_TRY(check(tasks[i]));
    delay.sleep();
    Group::Member &mine = group->member(me);
    mine.tasks = tasks;
    mine.count = count;
    STRETTO_TRY(group->barrier(me));
    if (Status same = group->checkShapes(); !same) {
      // All find it, and none leaves with its tasks while another looks.
      STRETTO_TRY(group->barrier(me));
      return same;
    }
    STRETTO_TRY(move(tasks, count));
    STRETTO_TRY(group->barrier(me));
    sentBytes += mine.readBytes.exchange(0, std::memory_order_relaxed);
    return Status::ok();
  }
  using Communicator::run;

private:
  Status check(const CollectiveTask &task) const {
    if (task.shape.kind == CollectiveKind::Permute &&
        (task.sender < 0 || task.sender >= size()))
      return failure(Code::Internal,
                     "a permutation gets its block from member ", task.sender,
                     " of ", size());
    return task.shape.check();
  }

  Status move(const CollectiveTask *tasks, size_t count) {
    bool inTwoSteps = false;
    for (current = 0; current < count; ++current) {
      const CollectiveShape &shape = tasks[current].shape;
      char *target = static_cast<char *>(tasks[current].target);
      switch (shape.kind) {
      case CollectiveKind::AllReduce:
        reduceMySlice(shape, target);
        inTwoSteps = true;
        break;
      case CollectiveKind::AllGather:
        allGather(shape, target);
        break;
      case CollectiveKind::ReduceScatter:
        reduceScatter(shape, target);
        break;
      case CollectiveKind::AllToAll:
        allToAll(shape, target);
        break;
      case CollectiveKind::Permute:
        permute(shape, tasks[current].sender, target);
        break;
      }
    }
    if (!inTwoSteps)
      return Status::ok();
    STRETTO_TRY(group->barrier(me));
    for (current = 0; current < count; ++current)
      if (tasks[current].shape.kind == CollectiveKind::AllReduce)
        copySlices(tasks[current].shape,
                   static_cast<char *>(tasks[current].target));
    return Status::ok();
  }

  /// First element of member k's slice of an AllReduce.
  int64_t sliceOf(const CollectiveShape &shape, int64_t k) const {
    return k * (shape.outer * shape.inner) / size();
  }
  void reduceMySlice(const CollectiveShape &shape, char *target) {
    int64_t width = bytesOf(shape.dtype), begin = sliceOf(shape, me);
    int64_t count = sliceOf(shape, me + 1) - begin;
    reduce(shape, begin, count, target + begin * width);
    countReadFromAll(count * width);
  }
  void copySlices(const CollectiveShape &shape, char *target) {
    int64_t width = bytesOf(shape.dtype);
    for (int64_t j = 0; j < size(); ++j) {
      if (j == me)
        continue;
      int64_t begin = sliceOf(shape, j) * width;
      int64_t bytes = sliceOf(shape, j + 1) * width - begin;
      const void *theirs = group->member(j).tasks[current].target;
      std::memcpy(target + begin, static_cast<const char *>(theirs) + begin,
                  bytes);
      countRead(j, bytes);
    }
  }

  void allGather(const CollectiveShape &shape, char *target) {
    int64_t block = shape.inner * bytesOf(shape.dtype), n = size();
    for (int64_t j = 0; j < n; ++j) {
      const char *from = sourceOf(j);
      for (int64_t o = 0; o < shape.outer; ++o)
        copy(target + (o * n + j) * block, from + o * block, block);
      countRead(j, shape.outer * block);
    }
  }

  void reduceScatter(const CollectiveShape &shape, char *target) {
    int64_t block = shape.inner * bytesOf(shape.dtype);
    for (int64_t o = 0; o < shape.outer; ++o)
      reduce(shape, (o * size() + me) * shape.inner, shape.inner,
             target + o * block);
    countReadFromAll(shape.outer * block);
  }

  void allToAll(const CollectiveShape &shape, char *target) {
    int64_t block = shape.inner * bytesOf(shape.dtype), n = size();
    for (int64_t j = 0; j < n; ++j) {
      const char *from = sourceOf(j);
      for (int64_t o = 0; o < shape.outer; ++o)
        for (int64_t m = 0; m < shape.middle; ++m)
          copy(target + ((o * shape.middle + m) * n + j) * block,
               from + ((o * n + me) * shape.middle + m) * block, block);
      countRead(j, shape.outer * shape.middle * block);
    }
  }

  void permute(const CollectiveShape &shape, int64_t sender, char *target) {
    int64_t bytes = shape.outer * shape.inner * bytesOf(shape.dtype);
    copy(target, sourceOf(sender), bytes);
    countRead(sender, bytes);
  }

  /// Elements [begin, begin + count) of all sources, in member order.
  void reduce(const CollectiveShape &shape, int64_t begin, int64_t count,
              char *target) {
    int64_t width = bytesOf(shape.dtype);
    for (int64_t j = 0; j < size(); ++j)
      inputs[j] = sourceOf(j) + begin * width;
    findReduce(shape.dtype, shape.reduce)(target, inputs.data(), size(), count);
  }

  const char *sourceOf(int64_t member) {
    return static_cast<const char *>(
        group->member(member).tasks[current].source);
  }
  static void copy(char *target, const char *source, int64_t bytes) {
    if (target != source)
      std::memcpy(target, source, bytes);
  }
  void countRead(int64_t member, int64_t bytes) {
    if (member != me)
      group->member(member).readBytes.fetch_add(bytes,
                                                std::memory_order_relaxed);
  }
  void countReadFromAll(int64_t bytes) {
    for (int64_t j = 0; j < size(); ++j)
      countRead(j, bytes);
  }

  std::shared_ptr<Group> group;
  int64_t me;
  std::vector<const void *> inputs;
  size_t current = 0; // task
  RandomDelay delay;
};

class InProcessWorld final : public World {
public:
  InProcessWorld(Job &job, int64_t rank) : job(job), me(rank) {
    std::vector<int64_t> all(job.size());
    for (int64_t i = 0; i < job.size(); ++i)
      all[i] = i;
    everybody = std::make_unique<InProcessCommunicator>(job.group(all, 0), me);
    used[all] = 1;
  }

  int64_t rank() const override { return me; }
  int64_t size() const override { return job.size(); }
  Communicator &everyone() override { return *everybody; }
  const CommOptions &options() const override { return job.options(); }
  void useThreads(int64_t more) override { job.useThreads(more); }
  bool sharesCores() const override { return job.mayShareCores(); }

  Result<std::unique_ptr<Communicator>>
  connect(const std::vector<int64_t> &members) override {
    int64_t place = -1;
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i] < 0 || members[i] >= size())
        return failure(Code::Internal, "a group has rank ", members[i], " of ",
                       size());
      if (members[i] == me)
        place = static_cast<int64_t>(i);
    }
    if (place < 0)
      return failure(Code::Internal, "rank ", me,
                     " connects a group that it is not in");
    return std::unique_ptr<Communicator>(
        new InProcessCommunicator(job.group(members, used[members]++), place));
  }

  void abort(const Status &reason) override {
    job.abort(reason.within(concat("rank ", me)));
  }
  Status state() const override { return job.reason(); }

private:
  Job &job;
  int64_t me;
  std::unique_ptr<Communicator> everybody;
  std::map<std::vector<int64_t>, uint64_t> used; // groups made, by members
};

/// The body of one rank's thread; no exception leaves it.
void runRank(Job &job, int64_t rank,
             const std::function<Status(World &)> &body) {
  Status status;
  try {
    InProcessWorld world(job, rank);
    status = body(world);
    if (!status && !job.aborted())
      world.abort(status);
  } catch (const std::exception &error) {
    job.abort(failure(Code::Internal, "rank ", rank, ": ", error.what()));
  }
  job.leave(rank);
}

} // namespace

Status runInProcess(int64_t numRanks, const CommOptions &options,
                    const std::function<Status(World &)> &body) {
  if (numRanks < 1 || numRanks > 65536)
    return failure(Code::Usage, "cannot run ", numRanks,
                   " ranks in one process");
  Job job(numRanks, options);
  std::vector<std::thread> threads;
  bool allStarted = true;
  for (int64_t rank = 1; rank < numRanks; ++rank) {
    try {
      threads.emplace_back([&, rank] { runRank(job, rank, body); });
    } catch (const std::exception &error) {
      job.abort(failure(Code::RunFailed, "cannot start a thread for rank ",
                        rank, ": ", error.what()));
      allStarted = false;
      break;
    }
  }
  if (allStarted)
    runRank(job, 0, body);
  for (std::thread &thread : threads)
    thread.join();
  return job.reason();
}

} // namespace stretto::runtime
