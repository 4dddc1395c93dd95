//===- Safetensors.h - tensors in a file ------------------------*- C++ -*-===//
//
// Reader and writer of the safetensors format: eight bytes of little-endian
// header length, a JSON header of names, types, shapes and byte ranges, and the
// data. The reader accepts nothing that the format forbids, whatever the bytes
// are. Light enough for the compiler to include.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SAFETENSORS_H
#define STRETTO_RUNTIME_SAFETENSORS_H

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stretto::runtime {

/// One entry of a header. `dtype` is the format's own word: F32, BF16, I32, ...
struct TensorEntry {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; ///< bytes, from the start of the data

  uint64_t bytes() const { return end - begin; }
  int64_t elements() const;
};

/// "[4x6]".
std::string shapeText(const std::vector<int64_t> &shape);

/// Bytes of one element of a safetensors type, 0 for an unknown one.
uint64_t safetensorsWidth(const std::string &dtype);

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors; ///< in the order of their data
  std::map<std::string, std::string> metadata;
  uint64_t dataBegin = 0; ///< in the file
};

/// Validates everything: sizes, types, ranges without holes or overlaps that
/// cover the file exactly, no key twice.
Result<SafetensorsHeader> parseSafetensors(Bytes file);

/// The eight bytes, the JSON and its padding to a multiple of eight. The
/// entries' ranges are computed here, in order; begin and end on entry are
/// ignored.
std::string
safetensorsHeader(std::vector<TensorEntry> &tensors,
                  const std::map<std::string, std::string> &metadata);

/// A whole file, mapped.
class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return name; }
  const SafetensorsHeader &header() const { return parsed; }
  /// Null when there is none of that name.
  const TensorEntry *find(const std::string &tensor) const;
  Bytes data(const TensorEntry &entry) const {
    return file.bytes().slice(parsed.dataBegin + entry.begin, entry.bytes());
  }

private:
  std::string name;
  MappedFile file;
  SafetensorsHeader parsed;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SAFETENSORS_H
