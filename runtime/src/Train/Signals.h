//===- Signals.h - asking a run to stop -------------------------*- C++ -*-===//
//
// SIGINT, SIGTERM and, without nohup, SIGHUP set a flag that the step loop
// reads; a second one ends the process at once. A write past a file size limit
// becomes an error, no signal. A file that shrinks while it is mapped ends the
// process with a message.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_SIGNALS_H
#define STRETTO_RUNTIME_SRC_TRAIN_SIGNALS_H

namespace stretto::runtime {

void catchSignals();

/// "SIGTERM" after one came, else null.
const char *caughtSignal();

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_SIGNALS_H
