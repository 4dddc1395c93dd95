//===- Futex.h - sleeping on a number ---------------------------*- C++ -*-===//
//
// A thread spins for a moment on a word that another will change, then sleeps
// until it is woken, and now and then looks whether waiting still makes sense.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_BASE_FUTEX_H
#define STRETTO_RUNTIME_SRC_BASE_FUTEX_H

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stretto::runtime {

/// Sleeps while `word` equals `value`, for at most `longest`.
inline void futexWait(std::atomic<uint32_t> &word, uint32_t value,
                      std::chrono::milliseconds longest) {
  timespec limit = {longest.count() / 1000,
                    (longest.count() % 1000) * 1'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &limit, nullptr, 0);
}

inline void futexWakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// About 20 microseconds: more than a short wait, less than a sleep and wake-up
/// cost. Pointless when the other thread needs this core.
constexpr int spinsBeforeSleep = 500;
/// Between such slices of sleep a wait looks at what could end it early.
constexpr std::chrono::milliseconds sleepSlice(20);

/// A count of one thread that others wait for.
class Milestone {
public:
  uint32_t count() const { return reached.load(std::memory_order_acquire); }
  void set(uint32_t to) {
    reached.store(to); // sequentially consistent with `sleepers`
    if (sleepers.load() > 0)
      futexWakeAll(reached);
  }
  /// Whether `least` was reached before `isOver` said to stop.
  template <typename IsOver>
  bool await(uint32_t least, bool spins, IsOver isOver) {
    for (int spin = 0; spins && spin < spinsBeforeSleep; ++spin) {
      if (count() >= least)
        return true;
      pauseCore();
    }
    while (count() < least) {
      if (isOver())
        return false;
      sleepers.fetch_add(1);
      uint32_t now = reached.load();
      if (now < least)
        futexWait(reached, now, sleepSlice);
      sleepers.fetch_sub(1);
    }
    return true;
  }

private:
  std::atomic<uint32_t> reached{0}, sleepers{0};
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_BASE_FUTEX_H
