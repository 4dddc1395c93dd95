//===- stretto.cpp - the stretto tool -------------------------------------===//

#include "stretto/Driver/Commands.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  int code = stretto::runTool({argv + 1, size_t(argc - 1)}, llvm::outs(),
                              llvm::errs());
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    llvm::errs() << "stretto: cannot write to the standard output\n";
    return code ? code : 3;
  }
  return code;
}
