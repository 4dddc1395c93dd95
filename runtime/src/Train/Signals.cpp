#include "Signals.h"

#include "stretto/Runtime/Status.h"

#include <csignal>
#include <unistd.h>

namespace stretto::runtime {

static volatile std::sig_atomic_t caught = 0;

static void remember(int signal) {
  caught = signal;
  std::signal(signal, SIG_DFL);
}

/// A read of a mapped page that the file no longer has.
static void endAtLostPage(int) {
  static const char text[] =
      "error: a file that is being read (data, checkpoint or executable) was "
      "truncated, or its disk failed\n";
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  _exit(int(Code::RunFailed));
}

void catchSignals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
  if (std::signal(SIGHUP, remember) == SIG_IGN)
    std::signal(SIGHUP, SIG_IGN); // nohup
  std::signal(SIGBUS, endAtLostPage);
  std::signal(SIGXFSZ, SIG_IGN);
}

const char *caughtSignal() {
  switch (caught) {
  case 0:
    return nullptr;
  case SIGINT:
    return "SIGINT";
  case SIGHUP:
    return "SIGHUP";
  default:
    return "SIGTERM";
  }
}

} // namespace stretto::runtime
