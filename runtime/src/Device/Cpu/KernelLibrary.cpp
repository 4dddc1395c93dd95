//===- KernelLibrary.cpp - compiled kernels in memory ---------------------===//

#include "KernelLibrary.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace stretto::runtime {

static Status systemError(const char *what) {
  return failure(Code::RunFailed, what, ": ", std::strerror(errno));
}

static Status writeAll(int descriptor, Bytes bytes) {
  while (bytes.size > 0) {
    ssize_t written = ::write(descriptor, bytes.data, bytes.size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return systemError("cannot hold the kernels in memory");
    bytes = bytes.slice(written, bytes.size - written);
  }
  return Status::ok();
}

static Result<void *> openImage(Bytes image) {
  int descriptor = memfd_create("stretto-kernels", MFD_CLOEXEC);
  if (descriptor < 0)
    return systemError("cannot hold the kernels in memory");
  Status written = writeAll(descriptor, image);
  void *handle = nullptr;
  if (written) {
    std::string path = concat("/proc/self/fd/", descriptor);
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      written = failure(Code::Rejected, "cannot load the kernels: ", dlerror());
  }
  ::close(descriptor);
  if (!written)
    return written;
  return handle;
}

Result<std::shared_ptr<KernelLibrary>> KernelLibrary::load(Bytes image) {
  static std::mutex mutex;
  static std::map<uint64_t, std::weak_ptr<KernelLibrary>> loaded;
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<KernelLibrary> &known = loaded[xxh3(image)];
  if (std::shared_ptr<KernelLibrary> library = known.lock())
    return library;
  std::shared_ptr<KernelLibrary> library(new KernelLibrary);
  STRETTO_ASSIGN(library->handle, openImage(image));
  known = library;
  return library;
}

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
}

Result<KernelFn> KernelLibrary::find(const std::string &symbol) const {
  if (void *address = dlsym(handle, symbol.c_str()))
    return reinterpret_cast<KernelFn>(address);
  return failure(Code::Rejected, "the kernels lack the symbol '", symbol, "'");
}

} // namespace stretto::runtime
