//===- Metrics.h - what a run tells while it runs ---------------*- C++ -*-===//
//
// One line of JSON per step in a file, and progress for people on stderr: one
// line that updates itself on a terminal, a line now and then elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_TRAIN_METRICS_H
#define STRETTO_RUNTIME_SRC_TRAIN_METRICS_H

#include "stretto/Runtime/Status.h"

#include <cstdint>
#include <string>

namespace stretto::runtime {

struct StepMetrics {
  int64_t step = 0;
  float loss = 0, gradNorm = 0;
  double lr = 0, tokensPerSecond = 0, mfu = 0; ///< mfu 0: unknown
  double seconds = 0;                          ///< since the loop began
};

struct EvalMetrics {
  int64_t step = 0;
  double loss = 0;   ///< nats per counted token
  double tokens = 0; ///< counted ones
  bool isText = false;
  double bitsPerByte() const { return loss / 0.693147180559945309; }
};

struct RollBackMetrics {
  int64_t step = 0;           ///< that failed
  int64_t to = 0;             ///< steps done in the state that was loaded
  int64_t skippedBatches = 0; ///< since step 0
  double seconds = 0;         ///< since the loop began
};

/// Lines of JSON, each written whole at once, so that a crash loses none.
class MetricsFile {
public:
  MetricsFile() = default;
  MetricsFile(const MetricsFile &) = delete;
  ~MetricsFile();
  /// Appends when `append`, else begins anew.
  Status open(const std::string &path, bool append);
  Status write(const StepMetrics &metrics);
  Status write(const EvalMetrics &metrics);
  Status write(const RollBackMetrics &metrics);

private:
  std::string path;
  int descriptor = -1;
};

class Progress {
public:
  Progress(bool quiet, int64_t lastStep);
  void report(const StepMetrics &metrics);
  void report(const EvalMetrics &metrics);
  /// A line of its own, also when quiet.
  void note(const std::string &text);

private:
  void clear();
  bool isDue(const StepMetrics &metrics) const;
  bool quiet, terminal, lineIsOpen = false;
  int64_t lastStep, firstStep = -1;
  double lastSeconds = 0;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_TRAIN_METRICS_H
