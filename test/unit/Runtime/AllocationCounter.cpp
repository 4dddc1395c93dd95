//===- AllocationCounter.cpp - counts what goes to the heap ---------------===//

#include "AllocationCounter.h"

#include <cerrno>
#include <cstddef>

// A sanitizer has put its own malloc there already; then nothing is counted.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STRETTO_SANITIZED
#endif
#endif

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {
thread_local bool counting = false;
thread_local int64_t counted = 0;
} // namespace

#ifndef STRETTO_SANITIZED
extern "C" {
void *malloc(size_t bytes) {
  counted += counting;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  counted += counting;
  return __libc_calloc(count, bytes);
}
void *realloc(void *block, size_t bytes) {
  counted += counting;
  return __libc_realloc(block, bytes);
}
void *memalign(size_t alignment, size_t bytes) {
  counted += counting;
  return __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
}
#endif

namespace stretto::runtime::test {

AllocationCounter::AllocationCounter() {
  counted = 0;
  counting = true;
}
AllocationCounter::~AllocationCounter() { counting = false; }
int64_t AllocationCounter::allocations() const { return counted; }
bool AllocationCounter::works() {
#ifdef STRETTO_SANITIZED
  return false;
#else
  return true;
#endif
}

} // namespace stretto::runtime::test
