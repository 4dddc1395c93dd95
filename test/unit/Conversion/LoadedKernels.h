//===- LoadedKernels.h - a kernel library in memory -------------*- C++ -*-===//
//
// Makes the functions of a compiled shared object callable in a test.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TEST_UNIT_CONVERSION_LOADEDKERNELS_H
#define STRETTO_TEST_UNIT_CONVERSION_LOADEDKERNELS_H

#include "gtest/gtest.h"
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using KernelFn = void (*)(void *const *, const int64_t *);

class LoadedKernels {
public:
  explicit LoadedKernels(const std::string &image) {
    int file = memfd_create("kernels", 0);
    EXPECT_EQ(write(file, image.data(), image.size()), ssize_t(image.size()));
    std::string path = "/proc/self/fd/" + std::to_string(file);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_TRUE(handle) << dlerror();
    close(file);
  }
  ~LoadedKernels() {
    if (handle)
      dlclose(handle);
  }
  LoadedKernels(const LoadedKernels &) = delete;
  KernelFn find(const std::string &name) {
    return reinterpret_cast<KernelFn>(dlsym(handle, name.c_str()));
  }

private:
  void *handle = nullptr;
};

#endif // STRETTO_TEST_UNIT_CONVERSION_LOADEDKERNELS_H
