//===- KernelEmitter.h - a planned kernel as LLVM IR ------------*- C++ -*-===//
//
// Writes  void name(void *const *buffers, const int64_t *scalars)  for a
// kernel: outer loops over rows, in them the nests of the plan. Every access
// says which buffer it touches (alias scopes), so that loops vectorise without
// run-time checks.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_CONVERSION_KERNELEMITTER_H
#define STRETTO_LIB_CONVERSION_KERNELEMITTER_H

#include "stretto/Transforms/Fuse/KernelPlan.h"
#include "llvm/IR/Module.h"

namespace stretto::kernel {

void emitKernel(llvm::Module &module, llvm::StringRef name,
                const KernelGraph &graph, const KernelPlan &plan);

} // namespace stretto::kernel

#endif // STRETTO_LIB_CONVERSION_KERNELEMITTER_H
