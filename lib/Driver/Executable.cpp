//===- Executable.cpp - runner, Program and kernels in one file -----------===//

#include "stretto/Driver/Executable.h"
#include "stretto/Driver/Compilation.h"
#include "stretto/Program/Serialize.h"
#include "stretto/Program/Verify.h"
#include "stretto/Runtime/Artifact.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace stretto;

std::string stretto::findRunner() {
  static int anchor;
  llvm::SmallString<256> path(
      llvm::sys::fs::getMainExecutable(nullptr, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "stretto-runner");
  return path.str().str();
}

static runtime::Bytes bytesOf(llvm::StringRef text) {
  return {text.data(), text.size()};
}

int stretto::writeExecutable(mlir::ModuleOp module, llvm::StringRef output,
                             const KernelOptions &options,
                             std::string &message) {
  mlir::FailureOr<KernelLibrary> kernels = compileKernels(module, options);
  if (mlir::failed(kernels)) {
    message = "the kernels do not compile";
    return exitInternal;
  }
  module->setAttr(
      attr::cpuFeatures,
      mlir::StringAttr::get(module.getContext(), kernels->cpuFeatures));
  // Verified: every executable holds a sound Program.
  mlir::FailureOr<std::string> program = serializeProgram(module);
  if (mlir::failed(program)) {
    message = "the Program cannot be written";
    return exitInternal;
  }
  std::string runnerPath = findRunner();
  auto runner = llvm::MemoryBuffer::getFile(runnerPath);
  if (!runner) {
    message = "cannot read the runner '" + runnerPath +
              "': " + runner.getError().message() +
              "; it lies beside the stretto tool";
    return exitInternal;
  }
  runtime::Status status =
      runtime::writeArtifact(output.str(), bytesOf((*runner)->getBuffer()),
                             bytesOf(*program), bytesOf(kernels->image));
  message = status.message();
  return status.exitCode();
}
