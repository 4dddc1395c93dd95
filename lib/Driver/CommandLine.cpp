//===- CommandLine.cpp - options that subcommands share -------------------===//

#include "CommandLine.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"

using namespace stretto;
using namespace stretto::driver;

namespace {
using namespace llvm::opt; // the generated tables need the names

#define OPTTABLE_STR_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

enum OptionId {
  OPT_INVALID = 0,
#define OPTION(...) LLVM_MAKE_OPT_ID(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

constexpr OptTable::Info optionInfos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "Options.inc"
#undef OPTION
};

struct OptionTable : GenericOptTable {
  OptionTable()
      : GenericOptTable(OptionStrTable, OptionPrefixesTable, optionInfos) {}
};

/// Reads one command line, remembering the first thing that is wrong with it.
class Reader {
public:
  Reader(const InputArgList &list) : list(list) {}

  void text(OptionId id, std::string &field) {
    field = list.getLastArgValue(id, field).str();
  }
  void integer(OptionId id, int64_t &field, int64_t least) {
    const Arg *arg = list.getLastArg(id);
    if (!arg)
      return;
    if (llvm::StringRef(arg->getValue()).getAsInteger(10, field) ||
        field < least)
      complain(arg->getSpelling(),
               "an integer of at least " + std::to_string(least),
               arg->getValue());
  }
  void number(OptionId id, double &field) {
    const Arg *arg = list.getLastArg(id);
    if (arg &&
        (llvm::StringRef(arg->getValue()).getAsDouble(field) || !(field > 0)))
      complain(arg->getSpelling(), "a positive number", arg->getValue());
  }
  void yesNo(OptionId id, bool &field) {
    const Arg *arg = list.getLastArg(id);
    if (!arg)
      return;
    llvm::StringRef value = arg->getValue();
    if (value != "yes" && value != "no")
      complain(arg->getSpelling(), "yes or no", value);
    field = value == "yes";
  }
  void phase(OptionId id, std::optional<Phase> &field) {
    const Arg *arg = list.getLastArg(id);
    if (!arg)
      return;
    field = parsePhase(arg->getValue());
    if (!field)
      complain(arg->getSpelling(), "one of " + allPhaseNames(),
               arg->getValue());
  }
  void complain(llvm::StringRef option, llvm::StringRef expected,
                llvm::StringRef got) {
    if (problem.empty())
      problem =
          ("'" + option + "' takes " + expected + ", got '" + got + "'").str();
  }

  std::string problem;

private:
  const InputArgList &list;
};
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
  Reader reader(list);
  if (missingCount)
    reader.complain(list.getArgString(missingIndex), "a value", "nothing");
  // MODEL is the first word; for train the words after it are the runner's.
  for (const Arg *arg : list) {
    bool unknown = arg->getOption().getID() == OPT_UNKNOWN;
    bool input = arg->getOption().getID() == OPT_INPUT;
    if (input && line.compile.model.empty())
      line.compile.model = arg->getValue();
    else if ((unknown || input) && passUnknown)
      line.rest.push_back(arg->getAsString(list));
    else if ((unknown || input) && reader.problem.empty())
      reader.problem = unexpected(table, arg->getAsString(list));
    else if (!unknown && !input && reader.problem.empty())
      reader.problem = belongsElsewhere(table, *arg, command);
  }
  reader.text(OPT_recipe, line.compile.recipe);
  reader.text(OPT_plan, line.compile.plan);
  reader.text(OPT_o, line.compile.output);
  reader.text(OPT_dump_dir, line.compile.dumpDir);
  reader.text(OPT_tensor, line.tensor);
  reader.integer(OPT_ranks, line.compile.ranks, 1);
  reader.integer(OPT_rank, line.rank, 0);
  reader.phase(OPT_stop_after, line.stopAfter);
  reader.number(OPT_tolerance, line.tolerance);
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
  if (reader.problem.empty() && line.compile.model.empty())
    reader.problem = "expected a MODEL: a folder with model.mlir, or a .mlir";
  if (reader.problem.empty())
    return std::nullopt;
  err << title << ": " << reader.problem << "\nusage: " << title << " " << usage
      << "\n";
  return exitUsage;
}
