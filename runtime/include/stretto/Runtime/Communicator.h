//===- Communicator.h - how ranks talk --------------------------*- C++ -*-===//
//
// A World is one rank's view of the job; a Communicator is its place in one
// group. Collectives work on the strided form of the schema, take sums in
// member order whatever the engine, and either complete on every member or
// return an error that names the rank at fault before the deadline.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_COMMUNICATOR_H
#define STRETTO_RUNTIME_COMMUNICATOR_H

#include "stretto/Runtime/Program_generated.h"
#include "stretto/Runtime/Status.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace stretto::runtime {

/// Sizes in elements; with n members:
///   AllReduce      src [outer, inner]            dst [outer, inner]
///   AllGather      src [outer, inner]            dst [outer, n, inner]
///   ReduceScatter  src [outer, n, inner]         dst [outer, inner]
///   AllToAll       src [outer, n, middle, inner] dst [outer, middle, n, inner]
///   Permute        src [outer, inner]            dst [outer, inner]
struct CollectiveShape {
  program::CollectiveKind kind = program::CollectiveKind::AllReduce;
  program::ReduceKind reduce = program::ReduceKind::Sum;
  program::DType dtype = program::DType::F32;
  int64_t outer = 1, middle = 1, inner = 0;

  static CollectiveShape of(const program::Collective &collective);
  /// Elements of source and destination in a group of n.
  int64_t sourceElements(int64_t n) const;
  int64_t targetElements(int64_t n) const;
  /// An error when this reduction is not defined on this type.
  Status check() const;
};

/// One collective on buffers of this member. Source and target are disjoint, or
/// the same range in an AllReduce.
struct CollectiveTask {
  CollectiveShape shape;
  const void *source = nullptr;
  void *target = nullptr;
  int64_t sender = -1; ///< of a Permute: the member whose source comes here
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int64_t size() const = 0;
  virtual int64_t memberIndex() const = 0;

  /// Runs collectives of one kind that do not depend on each other, as if one
  /// after the other but with the waits of one. Every member calls this with
  /// the same shapes, in the same order. Allocates nothing; adds to `sentBytes`
  /// what other members read from this one.
  virtual Status run(const CollectiveTask *tasks, size_t count,
                     uint64_t &sentBytes) = 0;
  Status run(const CollectiveShape &shape, const void *source, void *target,
             uint64_t &sentBytes) {
    CollectiveTask task = {shape, source, target};
    return run(&task, 1, sentBytes);
  }

  /// All members have arrived.
  virtual Status barrier() = 0;

  // Conveniences over run, for the host side of a job.
  /// `values` becomes the sum over members, in member order.
  Status sum(double *values, int64_t count);
  /// Member j's `bytes` bytes go to all + j * bytes.
  Status gather(const void *mine, void *all, int64_t bytes);
};

struct CommOptions {
  /// Longest wait for any other rank before the job is given up.
  std::chrono::milliseconds deadline = std::chrono::minutes(5);
  /// Before every collective a rank sleeps a random time of up to this many
  /// microseconds (0: never), and so does a stream that waited for another:
  /// tests that no result depends on timing.
  int64_t maxDelayMicroseconds = 0;
  uint64_t delaySeed = 0;

  /// The defaults, changed by STRETTO_DEADLINE=seconds and
  /// STRETTO_DELAY=seed:microseconds.
  static Result<CommOptions> fromEnvironment();
};

class World {
public:
  virtual ~World() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Called by all `members` (ranks, in member order), in the same order.
  virtual Result<std::unique_ptr<Communicator>>
  connect(const std::vector<int64_t> &members) = 0;
  virtual const CommOptions &options() const = 0;
  /// This rank runs on so many threads more.
  virtual void useThreads(int64_t more) = 0;
  /// Whether threads outnumber cores, so that a wait had better sleep at once.
  virtual bool sharesCores() const = 0;

  /// The communicator of all ranks in rank order.
  virtual Communicator &everyone() = 0;

  /// This rank gives up: every wait of every other rank ends with an error that
  /// names this rank. The first call of a job wins.
  virtual void abort(const Status &reason) = 0;
  /// The error of the job as seen from here, if it was aborted. Long work
  /// between collectives polls this.
  virtual Status state() const = 0;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_COMMUNICATOR_H
