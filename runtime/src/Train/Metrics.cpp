#include "Metrics.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace stretto::runtime {

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

Status MetricsFile::writeLine(const std::string &line) {
  if (descriptor < 0)
    return Status::ok();
  std::string text = line + "\n";
  ssize_t written = ::write(descriptor, text.data(), text.size());
  if (written != ssize_t(text.size()))
    return failure(Code::RunFailed, "cannot write the metrics file ", path,
                   ": ", written < 0 ? std::strerror(errno) : "no space left");
  return Status::ok();
}

Status MetricsFile::write(const StepMetrics &metrics) {
  nlohmann::ordered_json line = {{"step", metrics.step},
                                 {"loss", metrics.loss},
                                 {"grad_norm", metrics.gradNorm},
                                 {"lr", metrics.lr},
                                 {"tokens_per_s", metrics.tokensPerSecond},
                                 {"time", metrics.seconds}};
  if (metrics.mfu > 0)
    line["mfu"] = metrics.mfu;
  return writeLine(line.dump());
}

Status MetricsFile::write(const EvalMetrics &metrics) {
  nlohmann::ordered_json line = {{"step", metrics.step},
                                 {"eval_loss", metrics.loss},
                                 {"eval_tokens", metrics.tokens}};
  if (metrics.isText)
    line["eval_bits_per_byte"] = metrics.bitsPerByte();
  return writeLine(line.dump());
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

static std::string describe(const StepMetrics &metrics, int64_t lastStep,
                            int64_t firstStep) {
  std::string text = fmt::format(
      "step {}/{}  loss {:.4f}  grad norm {:.3g}  lr {:.3g}  {:.0f} tokens/s",
      metrics.step, lastStep, metrics.loss, metrics.gradNorm, metrics.lr,
      metrics.tokensPerSecond);
  if (metrics.mfu > 0)
    text += fmt::format("  MFU {:.1f} %", 100 * metrics.mfu);
  double perStep = metrics.seconds / double(metrics.step - firstStep + 1);
  int64_t left = int64_t(perStep * double(lastStep - metrics.step) + 0.5);
  if (left > 0)
    text += fmt::format("  {}:{:02} left", left / 60, left % 60);
  return text;
}

void Progress::report(const StepMetrics &metrics) {
  if (firstStep < 0)
    firstStep = metrics.step;
  if (quiet)
    return;
  constexpr double terminalPause = 0.1, logPause = 10; // seconds
  int64_t every = std::max<int64_t>(1, lastStep / 20);
  bool due =
      metrics.step == firstStep || metrics.step == lastStep ||
      metrics.seconds - lastSeconds > (terminal ? terminalPause : logPause) ||
      (!terminal && metrics.step % every == 0);
  if (!due)
    return;
  lastSeconds = metrics.seconds;
  std::string text = describe(metrics, lastStep, firstStep);
  if (!terminal) {
    std::fputs((text + "\n").c_str(), stderr);
    return;
  }
  std::fputs(("\r\033[K" + text).c_str(), stderr);
  lineIsOpen = true;
  if (metrics.step == lastStep) {
    std::fputs("\n", stderr);
    lineIsOpen = false;
  }
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
