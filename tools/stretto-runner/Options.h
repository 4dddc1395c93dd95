//===- Options.h - the runner's command line --------------------*- C++ -*-===//
//
// The same options stand behind `stretto-runner ARTIFACT`, an executable made
// by `stretto compile`, and `stretto train`.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TOOLS_STRETTO_RUNNER_OPTIONS_H
#define STRETTO_TOOLS_STRETTO_RUNNER_OPTIONS_H

#include "stretto/Runtime/Train.h"

#include <optional>

namespace stretto::runner {

struct CommandLine {
  std::string artifact; ///< empty when the program carries its own
  runtime::TrainOptions options;
};

/// Parses, or returns the exit code after printing help or an error. With
/// `embedded` there is no ARTIFACT argument.
std::optional<int> parse(int argc, char **argv, bool embedded,
                         CommandLine &commandLine);

} // namespace stretto::runner

#endif // STRETTO_TOOLS_STRETTO_RUNNER_OPTIONS_H
