//===- Executable.h - runner, Program and kernels in one file ---*- C++ -*-===//
//
// The last phase: kernels to a shared object, the Program serialized and
// verified, both appended to the runner that lies beside the tool.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DRIVER_EXECUTABLE_H
#define STRETTO_DRIVER_EXECUTABLE_H

#include "mlir/IR/BuiltinOps.h"
#include "stretto/Conversion/CompileKernels.h"
#include <string>

namespace stretto {

/// Path of the runner: `stretto-runner` in the folder of the running tool.
std::string findRunner();

/// Writes the executable of a module in the Program phase to `output`, with
/// kernels made as `options` say. Returns an exit code; `message` says what
/// went wrong.
int writeExecutable(mlir::ModuleOp module, llvm::StringRef output,
                    const KernelOptions &options, std::string &message);

} // namespace stretto

#endif // STRETTO_DRIVER_EXECUTABLE_H
