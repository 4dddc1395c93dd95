#include "stretto/Runtime/FileWriter.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace stretto::runtime {

static Status systemError(const char *what, const std::string &path) {
  return failure(Code::RunFailed, "cannot ", what, " ", path, ": ",
                 std::strerror(errno));
}

Result<FileWriter> FileWriter::create(const std::string &path) {
  FileWriter writer;
  writer.path = path;
  writer.descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (writer.descriptor < 0)
    return systemError("create", path);
  return writer;
}

FileWriter::~FileWriter() {
  if (descriptor >= 0)
    close(descriptor);
}

Status FileWriter::write(Bytes bytes) {
  while (bytes.size > 0) {
    ssize_t written = ::write(descriptor, bytes.data, bytes.size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError("write", path);
    bytes = bytes.slice(written, bytes.size - written);
  }
  return Status::ok();
}

Status FileWriter::finish() {
  if (fsync(descriptor) != 0)
    return systemError("synchronise", path);
  int closing = descriptor;
  descriptor = -1;
  if (close(closing) != 0)
    return systemError("close", path);
  return Status::ok();
}

Status syncFolder(const std::string &path) {
  int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return systemError("open the folder", path);
  bool synced = fsync(folder) == 0;
  Status status = synced ? Status() : systemError("synchronise", path);
  close(folder);
  return status;
}

Status makeFolders(const std::string &path) {
  std::error_code error, ignored;
  std::filesystem::create_directories(path, error);
  if (std::filesystem::is_directory(path, ignored))
    return Status::ok();
  bool isFile = std::filesystem::exists(path, ignored);
  return failure(Code::RunFailed, "cannot make the folder ", path, ": ",
                 isFile || !error ? "there is a file of that name"
                                  : error.message());
}

/// A device or a pipe would be lost by a rename.
static Status checkReplaceable(const std::string &path) {
  std::error_code error;
  std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type != std::filesystem::file_type::not_found &&
      type != std::filesystem::file_type::regular &&
      type != std::filesystem::file_type::directory)
    return failure(Code::RunFailed, "cannot write ", path,
                   ": it is not a regular file");
  return Status::ok();
}

Status checkFileWritable(const std::string &path) {
  STRETTO_TRY(checkReplaceable(path));
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return failure(Code::RunFailed, "cannot write ", path,
                   ": there is a folder of that name");
  std::string probe = path + ".tmp";
  Result<FileWriter> writer = FileWriter::create(probe);
  Status status = writer ? writer->finish() : writer.status();
  unlink(probe.c_str());
  return status;
}

Status renameDurably(const std::string &from, const std::string &to) {
  STRETTO_TRY(checkReplaceable(to)); // a folder is refused by rename itself
  if (rename(from.c_str(), to.c_str()) != 0)
    return systemError("rename to", to);
  std::string folder = std::filesystem::path(to).parent_path().string();
  return syncFolder(folder.empty() ? "." : folder);
}

Status writeFileAtomically(const std::string &path, const std::string &text) {
  std::string temporary = path + ".tmp";
  auto attempt = [&]() -> Status {
    STRETTO_ASSIGN(FileWriter writer, FileWriter::create(temporary));
    STRETTO_TRY(writer.write(Bytes(text.data(), text.size())));
    STRETTO_TRY(writer.finish());
    return renameDurably(temporary, path);
  };
  Status status = attempt();
  if (!status)
    unlink(temporary.c_str());
  return status;
}

} // namespace stretto::runtime
