#include "Metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

namespace stretto::runtime {

/// A line of text; nothing is allocated for one of usual length.
using Line = fmt::memory_buffer;

MetricsFile::~MetricsFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Status MetricsFile::open(const std::string &file, bool append) {
  path = file;
  int mode = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC);
  descriptor = ::open(path.c_str(), mode, 0666);
  if (descriptor < 0)
    return failure(Code::RunFailed, "cannot open the metrics file ", path, ": ",
                   std::strerror(errno));
  return Status::ok();
}

static Status writeLine(int descriptor, const std::string &path,
                        const Line &line) {
  if (descriptor < 0)
    return Status::ok();
  ssize_t written = ::write(descriptor, line.data(), line.size());
  if (written > 0 && written != ssize_t(line.size())) {
    // Half a line would spoil the next one of a resumed run.
    off_t end = lseek(descriptor, 0, SEEK_END);
    (void)!ftruncate(descriptor, end - written);
  }
  if (written != ssize_t(line.size()))
    return failure(Code::RunFailed, "cannot write the metrics file ", path,
                   ": ", written < 0 ? std::strerror(errno) : "no space left");
  return Status::ok();
}

/// Appends `"key": value`; JSON has no word for what is not finite but null.
/// The shortest digits that read back to the same bits.
template <typename Number>
static void addMember(Line &line, const char *key, Number value) {
  fmt::format_to(std::back_inserter(line),
                 "{}\"{}\":", line.size() == 0 ? "{" : ",", key);
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(line), "{}", value);
  else
    fmt::format_to(std::back_inserter(line), "null");
}

static void endObject(Line &line) {
  fmt::format_to(std::back_inserter(line), "}}\n");
}

Status MetricsFile::write(const StepMetrics &metrics) {
  Line line;
  addMember(line, "step", double(metrics.step));
  addMember(line, "loss", metrics.loss);
  addMember(line, "grad_norm", metrics.gradNorm);
  addMember(line, "lr", metrics.lr);
  addMember(line, "tokens_per_s", metrics.tokensPerSecond);
  if (metrics.mfu > 0)
    addMember(line, "mfu", metrics.mfu);
  addMember(line, "time", metrics.seconds);
  endObject(line);
  return writeLine(descriptor, path, line);
}

Status MetricsFile::write(const EvalMetrics &metrics) {
  Line line;
  addMember(line, "step", double(metrics.step));
  addMember(line, "eval_loss", metrics.loss);
  addMember(line, "eval_tokens", metrics.tokens);
  if (metrics.isText)
    addMember(line, "eval_bits_per_byte", metrics.bitsPerByte());
  endObject(line);
  return writeLine(descriptor, path, line);
}

Status MetricsFile::write(const RollBackMetrics &metrics) {
  Line line;
  addMember(line, "step", double(metrics.step));
  addMember(line, "rolled_back", double(metrics.to));
  addMember(line, "skipped_batches", double(metrics.skippedBatches));
  addMember(line, "time", metrics.seconds);
  endObject(line);
  return writeLine(descriptor, path, line);
}

Progress::Progress(bool quiet, int64_t lastStep)
    : quiet(quiet), terminal(isatty(STDERR_FILENO)), lastStep(lastStep) {}

void Progress::clear() {
  if (lineIsOpen)
    std::fputs("\r\033[K", stderr);
  lineIsOpen = false;
}

void Progress::note(const std::string &text) {
  clear();
  std::fputs((text + "\n").c_str(), stderr);
}

/// Appends what a line of progress says.
static void describe(Line &line, const StepMetrics &metrics, int64_t lastStep,
                     int64_t firstStep) {
  auto out = std::back_inserter(line);
  fmt::format_to(
      out,
      "step {}/{}  loss {:.4f}  grad norm {:.3g}  lr {:.3g}  {:.0f} tokens/s",
      metrics.step, lastStep, metrics.loss, metrics.gradNorm, metrics.lr,
      metrics.tokensPerSecond);
  if (metrics.mfu > 0)
    fmt::format_to(out, "  MFU {:.1f} %", 100 * metrics.mfu);
  double perStep = metrics.seconds / double(metrics.step - firstStep + 1);
  int64_t left = int64_t(perStep * double(lastStep - metrics.step) + 0.5);
  if (left > 0)
    fmt::format_to(out, "  {}:{:02} left", left / 60, left % 60);
}

bool Progress::isDue(const StepMetrics &metrics) const {
  constexpr double terminalPause = 0.1, logPause = 10; // seconds
  double pause = terminal ? terminalPause : logPause;
  int64_t every = std::max<int64_t>(1, lastStep / 20);
  return metrics.step == firstStep || metrics.step == lastStep ||
         metrics.seconds - lastSeconds > pause ||
         (!terminal && metrics.step % every == 0);
}

void Progress::report(const StepMetrics &metrics) {
  if (firstStep < 0)
    firstStep = metrics.step;
  if (quiet || !isDue(metrics))
    return;
  lastSeconds = metrics.seconds;
  lineIsOpen = terminal && metrics.step != lastStep;
  Line line;
  fmt::format_to(std::back_inserter(line), "{}", terminal ? "\r\033[K" : "");
  describe(line, metrics, lastStep, firstStep);
  fmt::format_to(std::back_inserter(line), "{}", lineIsOpen ? "" : "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Progress::report(const EvalMetrics &metrics) {
  if (quiet)
    return;
  std::string bits =
      metrics.isText ? fmt::format(" ({:.4f} bits/byte)", metrics.bitsPerByte())
                     : "";
  note(fmt::format("step {}  held-out loss {:.4f}{} over {:.0f} tokens",
                   metrics.step, metrics.loss, bits, metrics.tokens));
}

} // namespace stretto::runtime
