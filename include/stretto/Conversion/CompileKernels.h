//===- CompileKernels.h - kernels to a shared object ------------*- C++ -*-===//
//
// Compiles every stretto.kernel of a fused module into one position-independent
// shared object, in memory. Each kernel is a C function
// `void name(void *const *buffers, const int64_t *scalars)`.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_CONVERSION_COMPILEKERNELS_H
#define STRETTO_CONVERSION_COMPILEKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace stretto {

struct KernelOptions {
  /// LLVM's name of the processor to compile for.
  std::string cpu = "host";
  /// When set, receives the optimised LLVM IR as text.
  std::string *llvmIR = nullptr;
};

struct KernelLibrary {
  std::string image;              // bytes of the shared object
  std::vector<std::string> names; // of the kernels, in module order
  std::string cpuFeatures;        // that the code needs: "avx2,fma,..."
};

/// Is `cpu` "host" or a processor that code can be made for here? The error
/// names the nearest one.
llvm::Error checkProcessor(llvm::StringRef cpu);

/// Diagnoses kernels that cannot be compiled, an unknown processor, and a
/// missing or failing linker.
mlir::FailureOr<KernelLibrary>
compileKernels(mlir::ModuleOp module, const KernelOptions &options = {});

} // namespace stretto

#endif // STRETTO_CONVERSION_COMPILEKERNELS_H
