//===- Host.h - target machine and linker -----------------------*- C++ -*-===//
//
// LLVM's code generator for a named processor, and lld to make a shared object.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_CONVERSION_HOST_H
#define STRETTO_LIB_CONVERSION_HOST_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <string>

namespace stretto::kernel {

class HostTarget {
public:
  /// `cpu`: "host" or a name that LLVM knows.
  static llvm::Expected<HostTarget> create(llvm::StringRef cpu);

  llvm::TargetMachine &machine() { return *targetMachine; }
  /// Instruction set extensions that the code uses, "avx2,fma".
  std::string requiredFeatures() const;
  /// Sets triple and data layout.
  void prepare(llvm::Module &module) const;
  /// Sets the processor on every function.
  void decorate(llvm::Module &module) const;
  llvm::Expected<llvm::SmallVector<char, 0>> compile(llvm::Module &module);

private:
  std::string tune;
  llvm::SmallVector<std::string> features;
  std::unique_ptr<llvm::TargetMachine> targetMachine;
};

llvm::Expected<std::string> linkSharedObject(llvm::ArrayRef<char> object);

} // namespace stretto::kernel

#endif // STRETTO_LIB_CONVERSION_HOST_H
