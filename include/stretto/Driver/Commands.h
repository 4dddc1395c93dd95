//===- Commands.h - the subcommands of the stretto tool ---------*- C++ -*-===//
//
// Each takes what follows its name on the command line, prints its result to
// `out` and progress and errors to `err`, and returns the exit code.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DRIVER_COMMANDS_H
#define STRETTO_DRIVER_COMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace stretto {

using CommandArguments = llvm::ArrayRef<const char *>;

int runCompileCommand(CommandArguments arguments, llvm::raw_ostream &out,
                      llvm::raw_ostream &err);
int runTrainCommand(CommandArguments arguments, llvm::raw_ostream &out,
                    llvm::raw_ostream &err);
int runCheckCommand(CommandArguments arguments, llvm::raw_ostream &out,
                    llvm::raw_ostream &err);
int runExplainCommand(CommandArguments arguments, llvm::raw_ostream &out,
                      llvm::raw_ostream &err);
int runPlanCommand(CommandArguments arguments, llvm::raw_ostream &out,
                   llvm::raw_ostream &err);
int runVerifyCommand(CommandArguments arguments, llvm::raw_ostream &out,
                     llvm::raw_ostream &err);
int runDisasmCommand(CommandArguments arguments, llvm::raw_ostream &out,
                     llvm::raw_ostream &err);

/// `stretto ARGUMENTS…`.
int runTool(CommandArguments arguments, llvm::raw_ostream &out,
            llvm::raw_ostream &err);

} // namespace stretto

#endif // STRETTO_DRIVER_COMMANDS_H
