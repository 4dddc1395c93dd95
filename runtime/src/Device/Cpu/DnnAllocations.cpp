//===- DnnAllocations.cpp - oneDNN without the heap -----------------------===//
//
// Replaces the global operator new and delete. The pool is one static range, so
// that delete recognises its blocks on any thread; each thread has a slab of it
// and takes blocks one after the other. A slab starts over only when none of
// its blocks is in use; a block that does not fit comes from malloc. So a block
// that outlives the scope costs pool space, never correctness.
//
//===----------------------------------------------------------------------===//

#include "DnnAllocations.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t slabBytes = 8 * 1024;
constexpr size_t numSlabs = 256;
constexpr size_t alignment = 64;

alignas(64) char pool[numSlabs][slabBytes];
std::atomic<uint32_t> blocksInUse[numSlabs];
std::atomic<bool> taken[numSlabs];

/// This thread's slab, given back when the thread ends.
struct Slab {
  size_t index = numSlabs; // none
  size_t used = 0;
  int depth = 0; // nested scopes

  void enter() {
    for (size_t i = 0; index == numSlabs && i < numSlabs; ++i)
      if (!taken[i].exchange(true))
        index = i;
    if (index < numSlabs && blocksInUse[index].load() == 0)
      used = 0;
    ++depth;
  }
  void *allocate(size_t bytes) {
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (index == numSlabs || rounded < bytes || rounded > slabBytes - used)
      return nullptr;
    void *block = pool[index] + used;
    used += rounded;
    blocksInUse[index].fetch_add(1);
    return block;
  }
  ~Slab() {
    if (index < numSlabs && blocksInUse[index].load() == 0)
      taken[index].store(false);
    depth = 0;
    index = numSlabs;
  }
};

thread_local Slab slab;
thread_local bool active = false; // trivially destructible: safe at any time

[[maybe_unused]] void *allocate(size_t bytes) noexcept {
  if (active)
    if (void *block = slab.allocate(bytes))
      return block;
  return std::malloc(bytes ? bytes : 1);
}

[[maybe_unused]] void *allocateAligned(size_t bytes,
                                       std::align_val_t align) noexcept {
  void *block = nullptr;
  size_t needed = std::max(size_t(align), sizeof(void *));
  return posix_memalign(&block, needed, bytes ? bytes : 1) ? nullptr : block;
}

[[maybe_unused]] void release(void *block) noexcept {
  uintptr_t offset =
      reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(pool);
  if (offset < sizeof(pool))
    blocksInUse[offset / slabBytes].fetch_sub(1);
  else
    std::free(block);
}

[[maybe_unused]] void *orThrow(void *block) {
  if (!block)
    throw std::bad_alloc();
  return block;
}

} // namespace

namespace stretto::runtime {

DnnAllocationScope::DnnAllocationScope() {
  slab.enter();
  active = true;
}

DnnAllocationScope::~DnnAllocationScope() { active = --slab.depth > 0; }

} // namespace stretto::runtime

// A sanitizer brings its own; then nothing is taken from the pool.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define STRETTO_SANITIZER_HAS_HEAP
#endif
#endif
#ifndef STRETTO_SANITIZER_HAS_HEAP

void *operator new(size_t bytes) { return orThrow(allocate(bytes)); }
void *operator new[](size_t bytes) { return orThrow(allocate(bytes)); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes);
}
void *operator new(size_t bytes, std::align_val_t align) {
  return orThrow(allocateAligned(bytes, align));
}
void *operator new[](size_t bytes, std::align_val_t align) {
  return orThrow(allocateAligned(bytes, align));
}
void operator delete(void *block) noexcept { release(block); }
void operator delete[](void *block) noexcept { release(block); }
void operator delete(void *block, size_t) noexcept { release(block); }
void operator delete[](void *block, size_t) noexcept { release(block); }
void operator delete(void *block, std::align_val_t) noexcept { release(block); }
void operator delete[](void *block, std::align_val_t) noexcept {
  release(block);
}
void operator delete(void *block, size_t, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void *block, size_t, std::align_val_t) noexcept {
  release(block);
}

#endif // STRETTO_SANITIZER_HAS_HEAP
