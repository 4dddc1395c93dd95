//===- FolderLock.h - one run at a time saves into a folder -----*- C++ -*-===//
//
// Held by a run as long as it may save: a second run that would save into the
// same folder ends at its start, before either loses anything. The system lets
// go of the lock when the process ends, in whatever way. A file system without
// locks is used without.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_FOLDERLOCK_H
#define STRETTO_RUNTIME_FOLDERLOCK_H

#include "stretto/Runtime/Status.h"

#include <filesystem>
#include <vector>

namespace stretto::runtime {

class FolderLock {
public:
  /// Makes the folder where it is missing and locks it; finds out whether it
  /// can be written to. Another holder is an error (exit code 5) that names it.
  static Result<FolderLock> acquire(const std::string &folder);
  FolderLock() = default;
  FolderLock(FolderLock &&other) noexcept { *this = std::move(other); }
  FolderLock &operator=(FolderLock &&other) noexcept {
    std::swap(path, other.path);
    std::swap(made, other.made);
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  /// Also removes the folders that acquire made and that are still empty.
  ~FolderLock();

private:
  std::string path;                        // of the file that is locked
  std::vector<std::filesystem::path> made; // leaf first
  int descriptor = -1;
};

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_FOLDERLOCK_H
