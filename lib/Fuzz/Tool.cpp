//===- Tool.cpp - the command line of the sharding fuzzer -----------------===//
//
// Every graph runs in a child process, so that a crash or a hang is a finding
// like any other.
//
//===----------------------------------------------------------------------===//

#include "stretto/Fuzz/Tool.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "stretto/Driver/Register.h"
#include "stretto/Fuzz/Comparison.h"
#include "stretto/Fuzz/RandomGraph.h"
#include "stretto/Fuzz/Shrink.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace stretto;
using namespace stretto::fuzz;
namespace cl = llvm::cl;

namespace {
constexpr unsigned secondsPerGraph = 60;
/// Some bugs change nothing that is seen: two shards of equal values swapped, a
/// wrong axis along which all ranks hold the same.
constexpr double leastNoticed = 0.8;

enum ExitCode { Ok = 0, Usage = 2, Rejected = 3, Failed = 5 };

struct Options {
  cl::OptionCategory category{"Options of the sharding fuzzer"};
  cl::opt<std::string> file{
      cl::Positional, cl::desc("[graph.mlir]: run this one graph instead"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("of the first graph"), cl::init(1),
                         cl::cat(category)};
  cl::opt<uint64_t> count{"count", cl::desc("how many graphs"), cl::init(200),
                          cl::cat(category)};
  cl::opt<std::string> output{
      "output", cl::value_desc("folder"),
      cl::desc("where shrunk failures are written (seed-N.mlir)"),
      cl::init("."), cl::cat(category)};
  cl::opt<unsigned> stopAfter{"max-failures",
                              cl::desc("stop after so many failures"),
                              cl::init(10), cl::cat(category)};
  cl::opt<bool> shrinks{"shrink", cl::desc("shrink failures"), cl::init(true),
                        cl::cat(category)};
  cl::opt<bool> print{"print", cl::desc("print the graph of --seed and stop"),
                      cl::cat(category)};
  cl::opt<bool> localized{
      "localized", cl::desc("print the sharded program of --seed and stop"),
      cl::cat(category)};
  cl::opt<std::string> bug{
      "plant-bug", cl::value_desc("kind"),
      cl::desc(
          "make a mistake in every sharded program and say how many are "
          "noticed (80 % must be): drop-all-reduce, wrong-axis or swap-shards"),
      cl::cat(category)};
};

/// How a graph came out, also when the process that ran it did not.
struct Finding {
  enum Kind { Equal, Refused, Different, Crashed, Hung };
  Kind kind = Equal;
  std::string text;
  bool harmless = false; // a planted bug that changes no value
};

const char *nameOf(Finding::Kind kind) {
  switch (kind) {
  case Finding::Equal:
    return "equal";
  case Finding::Refused:
    return "refused";
  case Finding::Different:
    return "different";
  case Finding::Crashed:
    return "crashed";
  case Finding::Hung:
    return "hung";
  }
  llvm_unreachable("all kinds are named");
}
} // namespace

//===----------------------------------------------------------------------===//
// Child processes
//===----------------------------------------------------------------------===//

static void writeAll(int fd, StringRef text) {
  while (!text.empty()) {
    ssize_t written = write(fd, text.data(), text.size());
    if (written <= 0)
      return;
    text = text.drop_front(written);
  }
}

static std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, got);
  return text;
}

/// Runs `body` in a child; what it returns comes back, or how it died.
static Finding inChild(function_ref<Outcome()> body) {
  int pipes[2];
  if (pipe(pipes) != 0)
    return {Finding::Crashed, "no pipe: " + std::string(strerror(errno))};
  llvm::outs().flush();
  pid_t child = fork();
  if (child == 0) {
    close(pipes[0]);
    alarm(secondsPerGraph);
    Outcome outcome = body();
    writeAll(pipes[1], std::string({char('0' + int(outcome.verdict)),
                                    outcome.harmless ? 'h' : ' '}) +
                           outcome.text);
    _exit(0);
  }
  close(pipes[1]);
  std::string text = readAll(pipes[0]);
  close(pipes[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return {Finding::Hung,
            "no result after " + std::to_string(secondsPerGraph) + " s\n"};
  if (WIFSIGNALED(status))
    return {Finding::Crashed, std::string(strsignal(WTERMSIG(status))) + "\n"};
  if (text.size() < 2)
    return {Finding::Crashed, "the process ended early\n"};
  return {Finding::Kind(text[0] - '0'), text.substr(2), text[1] == 'h'};
}

//===----------------------------------------------------------------------===//
// The tool
//===----------------------------------------------------------------------===//

namespace {
class Tool {
public:
  explicit Tool(const Options &options) : options(options) {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.allowUnregisteredDialects();
    context.disableMultithreading(); // forks
    registerAllPasses();
  }

  int run() {
    if (options.print || options.localized)
      return print();
    bug = interp::parseBug(options.bug);
    if (!options.bug.empty() && !bug) {
      llvm::errs() << "error: no kind of bug is called '" << options.bug
                   << "'\n";
      return Usage;
    }
    if (!options.file.empty())
      return runFile();
    return bug ? countNoticed() : runSeeds();
  }

private:
  OwningOpRef<ModuleOp> load();
  int print();
  int runFile();
  int runSeeds();
  int countNoticed();
  void report(uint64_t seed, const Finding &finding);

  Finding runOne(ModuleOp graph, uint64_t seed) {
    return inChild([&] { return compareRanks(graph, seed); });
  }

  const Options &options;
  MLIRContext context;
  std::optional<interp::Bug> bug;
  uint64_t counts[5] = {};
};
} // namespace

/// The graph of the file, else of the seed; null when the file holds none.
OwningOpRef<ModuleOp> Tool::load() {
  if (options.file.empty())
    return makeRandomGraph(context, options.seed);
  OwningOpRef<ModuleOp> graph =
      parseSourceFile<ModuleOp>(options.file, &context);
  return graph && getGraph(*graph) ? std::move(graph) : OwningOpRef<ModuleOp>();
}

int Tool::print() {
  OwningOpRef<ModuleOp> module = load();
  if (module && options.localized) {
    module = makeProgram(*module);
    if (failed(shard(*module)))
      return Failed;
  }
  if (!module)
    return Rejected;
  module->print(llvm::outs());
  return Ok;
}

/// Plants one bug per graph that has a place for it.
int Tool::countNoticed() {
  uint64_t planted = 0, noticed = 0, harmless = 0;
  for (uint64_t seed = options.seed; seed < options.seed + options.count;
       ++seed) {
    Finding finding = inChild([&] {
      return compareRanks(*makeRandomGraph(context, seed), seed, bug);
    });
    if (StringRef(finding.text).starts_with("no place"))
      continue;
    ++planted;
    noticed += finding.kind != Finding::Equal;
    harmless += finding.harmless;
    if (finding.kind == Finding::Equal && !finding.harmless)
      llvm::outs() << "seed " << seed << ": not noticed: " << finding.text
                   << "\n";
  }
  llvm::outs() << options.bug << ": " << noticed << " of " << planted
               << " noticed";
  if (harmless)
    llvm::outs() << ", " << harmless << " harmless";
  llvm::outs() << "\n";
  return planted && noticed + harmless >= planted * leastNoticed ? Ok : Failed;
}

int Tool::runFile() {
  OwningOpRef<ModuleOp> graph = load();
  if (!graph)
    return Rejected;
  Finding finding = runOne(*graph, options.seed);
  llvm::outs() << options.file << ": " << nameOf(finding.kind) << "\n"
               << finding.text;
  return finding.kind == Finding::Equal ? Ok : Failed;
}

/// The complaint without its numbers: a smaller graph has others.
static std::string withoutDigits(StringRef text) {
  std::string result;
  llvm::copy_if(text.split('\n').first, std::back_inserter(result),
                [](char c) { return !llvm::isDigit(c); });
  return result;
}

/// Are these two the same mistake, as far as one can tell from outside?
static bool isSameKind(const Finding &a, const Finding &b) {
  return a.kind == b.kind && (a.kind != Finding::Refused ||
                              withoutDigits(a.text) == withoutDigits(b.text));
}

/// Shrinks a failure and writes it down, ready to become a test.
void Tool::report(uint64_t seed, const Finding &finding) {
  OwningOpRef<ModuleOp> graph = makeRandomGraph(context, seed);
  Finding last = finding;
  if (options.shrinks)
    graph = shrink(*graph, [&](ModuleOp candidate) {
      Finding found = runOne(candidate, seed);
      if (!isSameKind(found, finding))
        return false;
      last = found;
      return true;
    });
  SmallString<128> path(options.output);
  llvm::sys::path::append(path, "seed-" + std::to_string(seed) + ".mlir");
  std::error_code error = llvm::sys::fs::create_directories(options.output);
  llvm::raw_fd_ostream os(path, error);
  if (error) {
    llvm::errs() << "error: cannot write " << path << ": " << error.message()
                 << "\n";
  } else {
    os << "// RUN: stretto-fuzz-sharding %s --seed " << seed << "\n";
    SmallVector<StringRef> lines;
    StringRef(last.text).trim().split(lines, '\n');
    for (StringRef line : lines)
      os << "// " << line << "\n";
    graph->print(os);
  }
  llvm::outs() << "seed " << seed << ": " << nameOf(finding.kind) << ", see "
               << path << "\n"
               << last.text;
}

int Tool::runSeeds() {
  auto start = std::chrono::steady_clock::now();
  uint64_t done = 0, failures = 0;
  for (; done < options.count && failures < options.stopAfter; ++done) {
    uint64_t seed = options.seed + done;
    Finding finding = inChild(
        [&] { return compareRanks(*makeRandomGraph(context, seed), seed); });
    ++counts[finding.kind];
    if (finding.kind == Finding::Equal)
      continue;
    ++failures;
    report(seed, finding);
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  llvm::outs() << done << " graphs from seed " << options.seed << ": "
               << counts[Finding::Equal] << " equal, "
               << counts[Finding::Different] << " different, "
               << counts[Finding::Refused] << " refused, "
               << counts[Finding::Crashed] << " crashed, "
               << counts[Finding::Hung] << " hung ("
               << llvm::format("%.1f", elapsed.count()) << " s)\n";
  return failures ? Failed : Ok;
}

int fuzz::fuzzShardingMain(int argc, char **argv) {
  Options options;
  SmallVector<cl::OptionCategory *> shown = {&options.category};
  cl::HideUnrelatedOptions(shown);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "random graphs: sharded on virtual ranks against whole\n",
          &llvm::errs()))
    return Usage;
  return Tool(options).run();
}
