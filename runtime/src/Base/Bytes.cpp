//===- Bytes.cpp - ranges of bytes ----------------------------------------===//

#include "stretto/Runtime/Bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stretto::runtime {

uint64_t xxh3(Bytes bytes) { return XXH3_64bits(bytes.data, bytes.size); }

static Status cannotOpen(const std::string &path) {
  return failure(Code::Rejected, "cannot open '", path,
                 "': ", std::strerror(errno));
}

/// Maps all of an open file; its descriptor may be closed afterwards.
static Result<Bytes> mapAll(int descriptor, const std::string &path) {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return cannotOpen(path);
  if (!S_ISREG(info.st_mode))
    return failure(Code::Rejected, "'", path, "' is not a regular file");
  size_t size = static_cast<size_t>(info.st_size);
  if (size == 0)
    return Bytes();
  void *data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED)
    return cannotOpen(path);
  return Bytes(data, size);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  // O_NONBLOCK: a FIFO would wait for its writer before it can be refused.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannotOpen(path);
  Result<Bytes> mapped = mapAll(descriptor, path);
  ::close(descriptor);
  if (!mapped)
    return mapped.status();
  MappedFile file;
  file.contents = *mapped;
  return file;
}

MappedFile::~MappedFile() {
  if (contents.size > 0)
    munmap(const_cast<uint8_t *>(contents.data), contents.size);
}

} // namespace stretto::runtime
