#include "stretto/Runtime/FolderLock.h"

#include "stretto/Runtime/FileWriter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stretto::runtime {
namespace {

namespace fs = std::filesystem;

Status cannot(const char *what, const std::string &path) {
  return failure(Code::RunFailed, "cannot ", what, " ", path, ": ",
                 std::strerror(errno));
}

/// "process 123 on host", for the one who is refused.
std::string self() {
  char host[256] = "?";
  gethostname(host, sizeof(host) - 1);
  return concat("process ", getpid(), " on ", host);
}

std::string textOf(int descriptor) {
  char text[512];
  ssize_t size = pread(descriptor, text, sizeof(text), 0);
  return std::string(text, std::max<ssize_t>(size, 0));
}

Status writeText(int descriptor, const std::string &path,
                 const std::string &text) {
  bool written =
      ftruncate(descriptor, 0) == 0 &&
      pwrite(descriptor, text.data(), text.size(), 0) == ssize_t(text.size());
  return written ? Status::ok() : cannot("write", path);
}

/// Some network file systems have none: then nobody can be told apart.
bool locksExist(int error) {
  return error != ENOLCK && error != EOPNOTSUPP && error != ENOSYS &&
         error != EINVAL;
}

/// Whether the file is still the one of that name: its last holder may have
/// removed it between our open and our lock.
bool isStill(int descriptor, const std::string &path) {
  struct stat held, named;
  return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

} // namespace

Result<FolderLock> FolderLock::acquire(const std::string &folder) {
  FolderLock lock;
  std::error_code error;
  for (fs::path p = folder; !p.empty() && !fs::exists(p, error);
       p = p.parent_path())
    lock.made.push_back(p);
  STRETTO_TRY(makeFolders(folder));
  lock.path = folder + "/.lock";
  while (true) {
    int file = open(lock.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
      return cannot("create", lock.path);
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && locksExist(errno)) {
      Status status = errno == EWOULDBLOCK
                          ? failure(Code::RunFailed, "another run (",
                                    textOf(file), ") saves into ", folder,
                                    "; wait for its end or pass another --save")
                          : cannot("lock", lock.path);
      close(file);
      return status;
    }
    lock.descriptor = file;
    if (isStill(file, lock.path))
      break;
    close(std::exchange(lock.descriptor, -1));
  }
  STRETTO_TRY(writeText(lock.descriptor, lock.path, self()));
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor >= 0) {
    unlink(path.c_str()); // while nobody else can hold it
    close(descriptor);
  }
  std::error_code ignored;
  for (const fs::path &folder : made)
    fs::remove(folder, ignored); // only what is empty
}

} // namespace stretto::runtime
