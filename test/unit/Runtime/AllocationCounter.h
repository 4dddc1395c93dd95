//===- AllocationCounter.h - counts what goes to the heap -------*- C++ -*-===//
//
// malloc and its relatives of the whole test binary, counted per thread while
// an AllocationCounter lives on it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_RUNTIME_ALLOCATIONCOUNTER_H
#define STRETTO_TEST_UNIT_RUNTIME_ALLOCATIONCOUNTER_H

#include <cstdint>

namespace stretto::runtime::test {

class AllocationCounter {
public:
  AllocationCounter();
  ~AllocationCounter();
  int64_t allocations() const;
  /// False where a sanitizer has its own malloc.
  static bool works();
};

} // namespace stretto::runtime::test

#endif // STRETTO_TEST_UNIT_RUNTIME_ALLOCATIONCOUNTER_H
