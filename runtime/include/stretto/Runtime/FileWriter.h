//===- FileWriter.h - files that are there or are not -----------*- C++ -*-===//
//
// Writing that survives a crash and reports a full disk: every write is
// checked, a file is synchronised before it counts, and what must never be seen
// half written is renamed into place. Errors carry the path and exit code 5.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_FILEWRITER_H
#define STRETTO_RUNTIME_FILEWRITER_H

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Status.h"

#include <string>

namespace stretto::runtime {

class FileWriter {
public:
  /// Makes or truncates `path`.
  static Result<FileWriter> create(const std::string &path);
  FileWriter() = default;
  FileWriter(FileWriter &&other) noexcept { *this = std::move(other); }
  FileWriter &operator=(FileWriter &&other) noexcept {
    std::swap(path, other.path);
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~FileWriter(); ///< closes; the file stays as it is

  Status write(Bytes bytes);
  /// Synchronises with the disk and closes.
  Status finish();

private:
  std::string path;
  int descriptor = -1;
};

/// Waits until the entries of the folder are on the disk.
Status syncFolder(const std::string &path);

/// Makes `path` and what is missing above it.
Status makeFolders(const std::string &path);

/// Finds out now, not after hours, whether the file can be made or replaced.
/// Leaves nothing behind.
Status checkFileWritable(const std::string &path);

/// Renames and synchronises the folder of `to`.
Status renameDurably(const std::string &from, const std::string &to);

/// Writes `path` whole or not at all.
Status writeFileAtomically(const std::string &path, const std::string &text);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_FILEWRITER_H
