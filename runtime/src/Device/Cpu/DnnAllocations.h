//===- DnnAllocations.h - oneDNN without the heap ---------------*- C++ -*-===//
//
// oneDNN's execute makes small maps of its arguments on the heap, a few hundred
// bytes that it frees before it returns. While a DnnAllocationScope lives,
// operator new of this thread takes such blocks from a fixed pool instead, so
// that a step allocates nothing.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_DNNALLOCATIONS_H
#define STRETTO_RUNTIME_DEVICE_CPU_DNNALLOCATIONS_H

namespace stretto::runtime {

class DnnAllocationScope {
public:
  DnnAllocationScope();
  ~DnnAllocationScope();
  DnnAllocationScope(const DnnAllocationScope &) = delete;
  DnnAllocationScope &operator=(const DnnAllocationScope &) = delete;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_DNNALLOCATIONS_H
