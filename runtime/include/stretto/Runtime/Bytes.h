//===- Bytes.h - ranges of bytes --------------------------------*- C++ -*-===//
//
// A read-only range of bytes that somebody else owns, and the memory-mapped
// file that often does.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_BYTES_H
#define STRETTO_RUNTIME_BYTES_H

#include "stretto/Runtime/Status.h"

#include <cstddef>
#include <cstdint>

namespace stretto::runtime {

struct Bytes {
  const uint8_t *data = nullptr;
  size_t size = 0;

  Bytes() = default;
  Bytes(const void *data, size_t size)
      : data(static_cast<const uint8_t *>(data)), size(size) {}

  Bytes slice(size_t offset, size_t count) const {
    return Bytes(data + offset, count);
  }
};

/// xxh3_64 of the range: program hashes, checksums, instance keys.
uint64_t xxh3(Bytes bytes);
inline uint64_t xxh3(const std::string &text) {
  return xxh3(Bytes(text.data(), text.size()));
}

/// A whole file mapped read-only; empty files are allowed.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(contents, other.contents);
    return *this;
  }
  ~MappedFile();

  Bytes bytes() const { return contents; }

private:
  Bytes contents;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_BYTES_H
