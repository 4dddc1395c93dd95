//===- RandomDelay.h - sleeps that a test asks for --------------*- C++ -*-===//
//
// Random times by seed, rank and thread, to show that no result depends on
// timing (STRETTO_DELAY).
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_COMM_RANDOMDELAY_H
#define STRETTO_RUNTIME_SRC_COMM_RANDOMDELAY_H

#include "stretto/Runtime/Communicator.h"
#include "stretto/Runtime/Random.h"

#include <thread>

namespace stretto::runtime {

class RandomDelay {
public:
  /// `who` tells the sleepers of a job apart.
  RandomDelay(const CommOptions &options, uint64_t who)
      : longest(options.maxDelayMicroseconds),
        key(random::mix(options.delaySeed ^ random::mix(who + 1))) {}

  void sleep() {
    if (longest > 0)
      std::this_thread::sleep_for(std::chrono::microseconds(
          random::mix(key + ++number) % uint64_t(longest + 1)));
  }

private:
  int64_t longest;
  uint64_t key, number = 0;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_COMM_RANDOMDELAY_H
