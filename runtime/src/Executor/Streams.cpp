//===- Streams.cpp - the threads of a rank --------------------------------===//

#include "Streams.h"

#include <exception>

namespace stretto::runtime {

Streams::~Streams() {
  stopping.store(true);
  for (auto &stream : at)
    if (stream->thread.joinable()) {
      stream->begun.set(stream->begun.count()); // wakes it
      stream->thread.join();
    }
}

Status Streams::start(unsigned number, std::function<Status(unsigned)> prepare,
                      std::function<void(unsigned)> work) {
  while (at.size() < number)
    at.push_back(std::make_unique<Stream>());
  world.useThreads(number - 1);
  std::vector<Status> results(number);
  for (unsigned stream = 1; stream < number; ++stream) {
    auto body = [this, stream, prepare, work, result = &results[stream]] {
      *result = prepare(stream);
      at[stream]->ended.set(1);
      serve(stream, work);
    };
    try {
      at[stream]->thread = std::thread(body);
    } catch (const std::exception &error) {
      return failure(Code::RunFailed, "cannot start a thread for stream ",
                     stream, ": ", error.what());
    }
    // One after the other: nobody's result goes away under its thread.
    at[stream]->ended.await(1, false, [] { return false; });
  }
  results[0] = prepare(0);
  for (const Status &result : results)
    STRETTO_TRY(result);
  return Status::ok();
}

/// Run k is begun when `begun` is k, and has ended when `ended` is k + 1.
void Streams::serve(unsigned stream,
                    const std::function<void(unsigned)> &work) {
  Stream &mine = *at[stream];
  for (uint32_t run = 1;; ++run) {
    if (!mine.begun.await(run, false, [this] { return stopping.load(); }))
      return;
    work(stream);
    mine.ended.set(run + 1);
  }
}

void Streams::reset() {
  for (auto &stream : at)
    stream->done.set(0);
}

void Streams::begin(unsigned stream) {
  at[stream]->begun.set(at[stream]->begun.count() + 1);
}

void Streams::finish(unsigned stream) {
  at[stream]->ended.await(at[stream]->begun.count() + 1, !world.sharesCores(),
                          [] { return false; });
}

Status Streams::await(unsigned stream, uint32_t count) {
  bool reached = at[stream]->done.await(count, !world.sharesCores(),
                                        [this] { return !world.state(); });
  return reached ? Status::ok() : world.state();
}

} // namespace stretto::runtime
