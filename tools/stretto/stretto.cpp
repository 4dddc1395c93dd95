//===- stretto.cpp - the stretto tool -------------------------------------===//

#include "stretto/Driver/Commands.h"
#include "stretto/Driver/Compilation.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // a file too large is an error of the write
  int code = stretto::runTool({argv + 1, size_t(argc - 1)}, llvm::outs(),
                              llvm::errs());
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "error: cannot write to the standard output: "
                 << llvm::outs().error().message() << "\n";
    llvm::outs().clear_error();
    return code ? code : stretto::exitRunFailed;
  }
  return code;
}
