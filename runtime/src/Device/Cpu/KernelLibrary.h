//===- KernelLibrary.h - compiled kernels in memory -------------*- C++ -*-===//
//
// Loads the shared object that the compiler attached to the Program, straight
// from memory.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_KERNELLIBRARY_H
#define STRETTO_RUNTIME_DEVICE_CPU_KERNELLIBRARY_H

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Status.h"

namespace stretto::runtime {

using KernelFn = void (*)(void *const *buffers, const int64_t *scalars);

class KernelLibrary {
public:
  /// Devices of one process that load the same image share one library.
  static Result<std::shared_ptr<KernelLibrary>> load(Bytes image);
  ~KernelLibrary();

  Result<KernelFn> find(const std::string &symbol) const;

private:
  KernelLibrary() = default;
  void *handle = nullptr;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_KERNELLIBRARY_H
