//===- Streams.h - the threads of a rank ------------------------*- C++ -*-===//
//
// Stream 0 is the rank's own thread, every other one has a thread that lives as
// long as the executor. In a run of a function each counts the instructions it
// has done; to wait for a command is to wait for such a count.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_STREAMS_H
#define STRETTO_RUNTIME_EXECUTOR_STREAMS_H

#include "../Base/Futex.h"

#include "stretto/Runtime/Communicator.h"

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace stretto::runtime {

class Streams {
public:
  explicit Streams(World &world) : world(world) {}
  ~Streams();

  /// Starts the threads of `number` streams; on each, also the caller's,
  /// `prepare(stream)` runs first, `work(stream)` whenever it is begun.
  Status start(unsigned number, std::function<Status(unsigned)> prepare,
               std::function<void(unsigned)> work);

  // By the rank's thread.
  /// No stream runs: all counts start again.
  void reset();
  void begin(unsigned stream);
  /// Returns when the work that was begun has ended.
  void finish(unsigned stream);

  // By the thread of a stream that runs.
  void advance(unsigned stream, uint32_t done) { at[stream]->done.set(done); }
  /// Returns when `stream` has done `count` instructions, or with the error of
  /// the job.
  Status await(unsigned stream, uint32_t count);

private:
  struct alignas(64) Stream {
    Milestone done;         // instructions of this run
    Milestone begun, ended; // runs
    std::thread thread;
  };
  void serve(unsigned stream, const std::function<void(unsigned)> &work);

  World &world;
  std::vector<std::unique_ptr<Stream>> at;
  std::atomic<bool> stopping{false};
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_STREAMS_H
