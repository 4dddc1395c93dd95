//===- CompileCommand.cpp - stretto compile, stretto train ----------------===//

#include "CommandLine.h"
#include "stretto/Driver/Executable.h"
#include "stretto/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace stretto;
using namespace stretto::driver;

/// The IR where --stop-after stops: to -o FILE, else to stdout, unless
/// --dump-dir has written it already.
static int writeIR(Compilation &compilation, const CommandLine &line,
                   llvm::raw_ostream &out, llvm::raw_ostream &err) {
  const std::string &path = line.compile.output;
  if (path.empty() && !line.compile.dumpDir.empty())
    return exitOk;
  if (path.empty() || path == "-") {
    compilation.print(out);
    return exitOk;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  compilation.print(os);
  std::error_code code = writeFile(path, text);
  if (!code)
    return exitOk;
  err << "error: cannot write '" << path << "': " << code.message() << "\n";
  return exitRunFailed;
}

int stretto::runCompileCommand(CommandArguments arguments,
                               llvm::raw_ostream &out, llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine(
          "compile",
          "MODEL -o FILE [--recipe FILE] [--plan FILE] [--cpu NAME] "
          "[--stop-after PHASE] [--dump-dir DIR]",
          arguments, /*passUnknown=*/false, line, out, err))
    return *code;
  Phase last = line.stopAfter.value_or(Phase::Executable);
  if (last == Phase::Executable && line.compile.output.empty()) {
    err << "stretto compile: expected -o FILE, or --stop-after PHASE\n";
    return exitUsage;
  }
  if (llvm::Error unknown = checkProcessor(line.compile.cpu)) {
    err << "stretto compile: '--cpu': " << llvm::toString(std::move(unknown))
        << "\n";
    return exitUsage;
  }
  Compilation compilation(line.compile, err);
  if (int code = compilation.compile(last))
    return code;
  if (!line.stopAfter || last == Phase::Executable)
    return exitOk;
  return writeIR(compilation, line, out, err);
}

namespace {
/// A file that is removed when its owner is done.
struct TemporaryFile {
  llvm::SmallString<128> path;
  ~TemporaryFile() { remove(); }
  void remove() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
    path.clear();
  }
};
} // namespace

/// Becomes the executable, so that signals and the exit code are its own. Its
/// name is gone by then: nothing is left behind, however it ends.
static int become(TemporaryFile &executable,
                  llvm::ArrayRef<std::string> arguments,
                  llvm::raw_ostream &err) {
  int descriptor = open(executable.path.c_str(), O_RDONLY | O_CLOEXEC);
  int problem = errno;
  executable.remove();
  if (descriptor >= 0) {
    std::string name = "stretto train";
    std::vector<char *> words{name.data()};
    for (const std::string &argument : arguments)
      words.push_back(const_cast<char *>(argument.c_str()));
    words.push_back(nullptr);
    fexecve(descriptor, words.data(), environ);
    problem = errno;
    close(descriptor);
  }
  err << "error: the executable does not start: " << std::strerror(problem)
      << "\n";
  return exitRunFailed;
}

/// `stretto train` hands what follows MODEL to the executable: its help, too.
static void printRunnerHelp(llvm::raw_ostream &out) {
  out << "\nOPTIONS OF THE EXECUTABLE, which may follow MODEL:\n";
  out.flush();
  std::string runner = findRunner();
  llvm::sys::ExecuteAndWait(runner, {runner, "--help"});
}

int stretto::runTrainCommand(CommandArguments arguments, llvm::raw_ostream &out,
                             llvm::raw_ostream &err) {
  CommandLine line;
  if (auto code = parseCommandLine(
          "train",
          "MODEL --data FILE… [--recipe FILE] [--plan FILE] [--ranks N] "
          "[options of the executable]",
          arguments, /*passUnknown=*/true, line, out, err)) {
    if (*code == exitOk)
      printRunnerHelp(out);
    return *code;
  }
  TemporaryFile executable;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile(
          "stretto-train", "", executable.path)) {
    err << "error: cannot make a temporary file: " << code.message() << "\n";
    return exitRunFailed;
  }
  line.compile.output = executable.path.str().str();
  {
    Compilation compilation(line.compile, err);
    if (int code = compilation.compile(Phase::Executable))
      return code;
  }
  out.flush();
  return become(executable, line.rest, err);
}
