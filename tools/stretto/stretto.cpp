//===- stretto.cpp - the command line of the compiler ---------------------===//

#include "stretto/Model/ModelCommand.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"

using Command = int (*)(llvm::ArrayRef<const char *>, llvm::raw_ostream &,
                        llvm::raw_ostream &);

static const struct {
  llvm::StringLiteral name;
  Command run;
  llvm::StringLiteral summary;
} commands[] = {
    {"model", stretto::runModelCommand, "write the IR of a model"},
};

static int printUsage(llvm::raw_ostream &os, int exitCode) {
  os << "usage: stretto COMMAND [options]\n\n";
  for (const auto &command : commands)
    os << "  " << llvm::left_justify(command.name, 10) << command.summary
       << "\n";
  os << "\n'stretto COMMAND --help' tells more.\n";
  return exitCode;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  constexpr int usageError = 2;
  llvm::ArrayRef<const char *> arguments(argv + 1, argv + argc);
  if (arguments.empty())
    return printUsage(llvm::errs(), usageError);
  llvm::StringRef name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help")
    return printUsage(llvm::outs(), 0);
  for (const auto &command : commands)
    if (name == command.name)
      return command.run(arguments.drop_front(), llvm::outs(), llvm::errs());
  llvm::errs() << "error: unknown command '" << name << "'\n";
  return printUsage(llvm::errs(), usageError);
}
