//===- Tool.cpp - the subcommands by name ---------------------------------===//

#include "stretto/Driver/Commands.h"
#include "stretto/Driver/Compilation.h"
#include "stretto/Driver/Register.h"
#include "stretto/Model/ModelCommand.h"
#include "stretto/Support/Text.h"

using namespace stretto;

namespace {
struct Command {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  int (*run)(CommandArguments, llvm::raw_ostream &, llvm::raw_ostream &);
};
} // namespace

static constexpr Command commands[] = {
    {"train", "compile and train: stretto train MODEL --data FILE",
     runTrainCommand},
    {"compile", "write one executable: stretto compile MODEL -o FILE",
     runCompileCommand},
    {"check", "prove a plan equal to one device: stretto check MODEL",
     runCheckCommand},
    {"explain", "why a value lies as it does; what each collective costs",
     runExplainCommand},
    {"plan", "what a plan takes before it runs: memory, work, bytes sent",
     runPlanCommand},
    {"verify", "check the Program in an executable: stretto verify FILE",
     runVerifyCommand},
    {"disasm", "print the Program in an executable: stretto disasm FILE",
     runDisasmCommand},
    {"model", "write model IR: stretto model gpt|llama -o FILE",
     runModelCommand},
};

static int printUsage(llvm::raw_ostream &os, int code) {
  os << "usage: stretto COMMAND ...\n\n";
  for (const Command &command : commands)
    os << "  " << command.name << std::string(10 - command.name.size(), ' ')
       << command.summary << "\n";
  os << "\n`stretto COMMAND --help` tells its options.\n";
  return code;
}

int stretto::runTool(CommandArguments arguments, llvm::raw_ostream &out,
                     llvm::raw_ostream &err) {
  if (arguments.empty())
    return printUsage(err, exitUsage);
  llvm::StringRef name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help")
    return printUsage(out, exitOk);
  if (name == "--version") {
    out << "stretto 0.1\n";
    return exitOk;
  }
  for (const Command &command : commands)
    if (command.name == name) {
      registerAllPasses();
      return command.run(arguments.drop_front(), out, err);
    }
  std::vector<llvm::StringRef> known;
  for (const Command &command : commands)
    known.push_back(command.name);
  err << "stretto: no command " << quote(name)
      << suggest(name, known, "commands") << "\n";
  return printUsage(err, exitUsage);
}
