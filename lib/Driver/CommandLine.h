//===- CommandLine.h - options that subcommands share -----------*- C++ -*-===//
//
// Private to the room: the parsed command line of one subcommand.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_COMMANDLINE_H
#define STRETTO_LIB_DRIVER_COMMANDLINE_H

#include "stretto/Driver/Commands.h"
#include "stretto/Driver/Compilation.h"
#include "stretto/Simulator/Timeline.h"
#include <optional>

namespace stretto::driver {

struct CommandLine {
  CompileOptions compile;
  std::optional<Phase> stopAfter;
  std::optional<std::string> tensor;
  std::string svg, timeline, measured;
  MachineRates rates;
  int64_t steps = 2;
  int64_t rank = 0;
  double tolerance = 1e-10;
  bool executable = true;
  std::string plantBug; // KIND or KIND:N
  bool json = false;
  std::vector<std::string> rest; // what train hands to the runner
};

/// Parses; an exit code when there is nothing more to do (help, usage error).
/// With `passUnknown`, options that are not ours end up in `rest`.
std::optional<int> parseCommandLine(llvm::StringRef command,
                                    llvm::StringRef usage,
                                    CommandArguments arguments,
                                    bool passUnknown, CommandLine &line,
                                    llvm::raw_ostream &out,
                                    llvm::raw_ostream &err);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_COMMANDLINE_H
