#include "Signals.h"

#include <csignal>

namespace stretto::runtime {

static volatile std::sig_atomic_t caught = 0;

static void remember(int signal) {
  caught = signal;
  std::signal(signal, SIG_DFL);
}

void catchSignals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
  std::signal(SIGXFSZ, SIG_IGN);
}

const char *caughtSignal() {
  return caught == 0 ? nullptr : caught == SIGINT ? "SIGINT" : "SIGTERM";
}

} // namespace stretto::runtime
