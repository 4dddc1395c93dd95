//===- CommandLine.cpp - options that subcommands share -------------------===//

#include "CommandLine.h"
#include "stretto/Support/OptionReader.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

using namespace stretto;
using namespace stretto::driver;

namespace {
#define STRETTO_OPTIONS "Options.inc"
#include "stretto/Support/OptionTable.inc"
} // namespace

/// "check, explain: print …" -> the commands that take the option, and what it
/// does. No commands: all take it.
static std::pair<llvm::StringRef, llvm::StringRef>
splitHelp(llvm::StringRef help) {
  auto [owners, text] = help.split(": ");
  bool isList = owners.find_first_not_of("abcdefghijklmnopqrstuvwxyz, ") ==
                llvm::StringRef::npos;
  return isList && !text.empty() ? std::pair(owners, text)
                                 : std::pair(llvm::StringRef(), help);
}

static bool isFor(llvm::StringRef command, llvm::StringRef owners) {
  llvm::SmallVector<llvm::StringRef> names;
  owners.split(names, ", ");
  return owners.empty() || llvm::is_contained(names, command);
}

/// The help without the options of other commands.
static void printHelp(const OptionTable &table, llvm::StringRef command,
                      llvm::StringRef usage, llvm::raw_ostream &out) {
  std::string title = ("stretto " + command).str(), all;
  llvm::raw_string_ostream os(all);
  table.printHelp(os, (title + " " + usage).str().c_str(), title.c_str());
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(all).rtrim().split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::StringRef owners, text;
    for (unsigned id = 1; id <= table.getNumOptions(); ++id) {
      llvm::StringRef help = table.getOptionHelpText(id);
      if (!help.empty() && line.ends_with(help))
        std::tie(owners, text) = splitHelp(help);
    }
    if (isFor(command, owners))
      out << line.drop_back(owners.empty() ? text.size()
                                           : owners.size() + 2 + text.size())
          << text << "\n";
  }
}

/// Options that another command takes would have no effect here.
static std::string belongsElsewhere(const OptionTable &table, const Arg &arg,
                                    llvm::StringRef command) {
  const Option option = arg.getOption().getUnaliasedOption();
  llvm::StringRef owners =
      splitHelp(table.getOptionHelpText(option.getID())).first;
  if (isFor(command, owners))
    return "";
  return ("'" + arg.getSpelling() + "' is an option of: " + owners).str();
}

/// "unknown option '--dumpdir'; did you mean '--dump-dir'?"
static std::string unexpected(const OptionTable &table, std::string word) {
  if (!llvm::StringRef(word).starts_with("-"))
    return "unexpected '" + word + "'; one MODEL is enough";
  std::string nearest, name = word.substr(0, word.find('='));
  bool isNear = table.findNearest(name, nearest) <= 2;
  return "unknown option '" + word + "'" +
         (isNear ? "; did you mean '" + nearest + "'?" : "");
}

std::optional<int> driver::parseCommandLine(llvm::StringRef command,
                                            llvm::StringRef usage,
                                            CommandArguments arguments,
                                            bool passUnknown, CommandLine &line,
                                            llvm::raw_ostream &out,
                                            llvm::raw_ostream &err) {
  OptionTable table;
  unsigned missingIndex, missingCount;
  InputArgList list = table.ParseArgs(arguments, missingIndex, missingCount);
  std::string title = ("stretto " + command).str();
  if (list.hasArg(OPT_help)) {
    printHelp(table, command, usage, out);
    return exitOk;
  }
  std::string problem; // the first thing that is wrong
  OptionReader reader(list, [&](const llvm::Twine &message) {
    if (problem.empty())
      problem = message.str();
  });
  if (missingCount)
    problem = std::string("'") + list.getArgString(missingIndex) +
              "' takes a value, got nothing";
  // MODEL is the first word; for train the words after it are the runner's.
  for (const Arg *arg : list) {
    bool unknown = arg->getOption().getID() == OPT_UNKNOWN;
    bool input = arg->getOption().getID() == OPT_INPUT;
    if (input && line.compile.model.empty())
      line.compile.model = arg->getValue();
    else if ((unknown || input) && passUnknown)
      line.rest.push_back(arg->getAsString(list));
    else if ((unknown || input) && problem.empty())
      problem = unexpected(table, arg->getAsString(list));
    else if (!unknown && !input && problem.empty())
      problem = belongsElsewhere(table, *arg, command);
  }
  reader.text(OPT_recipe, line.compile.recipe);
  reader.text(OPT_plan, line.compile.plan);
  reader.text(OPT_o, line.compile.output);
  reader.text(OPT_dump_dir, line.compile.dumpDir);
  reader.text(OPT_cpu, line.compile.cpu);
  if (const Arg *tensor = list.getLastArg(OPT_tensor))
    line.tensor = tensor->getValue();
  reader.text(OPT_svg, line.svg);
  reader.text(OPT_timeline, line.timeline);
  reader.text(OPT_measured, line.measured);
  reader.positive(OPT_flops, line.rates.flops);
  reader.positive(OPT_bf16_flops, line.rates.bf16Flops);
  reader.positive(OPT_memory_bandwidth, line.rates.memoryBytes);
  reader.integer(OPT_ranks, line.compile.ranks, 1);
  reader.integer(OPT_rank, line.rank, 0);
  reader.choice(OPT_stop_after, line.stopAfter, parsePhase,
                "one of " + allPhaseNames());
  reader.positive(OPT_tolerance, line.tolerance);
  reader.yesNo(OPT_executable, line.executable);
  reader.text(OPT_plant_bug, line.plantBug);
  line.json = list.hasArg(OPT_json);
  line.compile.time = list.hasArg(OPT_time);
  if (passUnknown) {
    // The runner has its own meaning of these.
    if (const Arg *steps = list.getLastArg(OPT_steps))
      line.rest.insert(line.rest.end(), {"--steps", steps->getValue()});
    if (line.json)
      line.rest.push_back("--json");
  } else {
    reader.integer(OPT_steps, line.steps, 1);
  }
  if (problem.empty() && line.compile.model.empty())
    problem = usage.starts_with("FILE")
                  ? "expected a FILE: an executable that compile wrote"
                  : "expected a MODEL: a folder with model.mlir, or a .mlir";
  if (problem.empty())
    return std::nullopt;
  err << title << ": " << problem << "\nusage: " << title << " " << usage
      << "\n";
  return exitUsage;
}
