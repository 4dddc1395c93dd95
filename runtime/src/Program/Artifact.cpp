//===- Artifact.cpp - the executable that carries its Program -------------===//
//
// File layout; offsets count from the start of the file:
//
//   runner | pad to 64 | program | pad to 64 | kernels | footer
//
// The footer is the last bytes of the file. Each part has its checksum, and the
// payload (everything after the runner, without footer) has one, and the footer
// itself has one over its other fields.
//
//===----------------------------------------------------------------------===//

#include "stretto/Runtime/Artifact.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stretto::runtime {

namespace {

struct Part {
  uint64_t offset;
  uint64_t size;
  uint64_t checksum;
};

struct Footer {
  Part runner, program, kernels;
  Part payload;
  uint64_t version;
  uint64_t checksum; ///< of everything above
  char magic[16];
};
static_assert(sizeof(Footer) == 4 * 24 + 32, "the footer has no holes");

constexpr char magic[16] = {'S', 'T', 'R', 'E', 'T', 'T', 'O', ' ',
                            'A', 'R', 'T', 'I', 'F', 'A', 'C', 'T'};
constexpr uint64_t footerVersion = 1;

uint64_t checksumOf(const Footer &footer) {
  return xxh3(Bytes(&footer, offsetof(Footer, checksum)));
}

bool endsInMagic(Bytes file) {
  return file.size >= sizeof(magic) &&
         std::memcmp(file.data + file.size - sizeof(magic), magic,
                     sizeof(magic)) == 0;
}

Result<Bytes> readPart(Bytes file, const Part &part, const char *name) {
  if (part.offset > file.size || part.size > file.size - part.offset)
    return failure(Code::Rejected, "its ", name, " lies past the end of the ",
                   "file (truncated?)");
  Bytes bytes = file.slice(part.offset, part.size);
  if (xxh3(bytes) != part.checksum)
    return failure(Code::Rejected, "the checksum of its ", name,
                   " is wrong (altered or damaged)");
  return bytes;
}

Result<Footer> readFooter(Bytes file) {
  if (!endsInMagic(file) || file.size < sizeof(Footer))
    return failure(Code::Rejected, "it carries no Program (truncated, or not ",
                   "written by 'stretto compile')");
  Footer footer;
  std::memcpy(&footer, file.data + file.size - sizeof(Footer), sizeof(Footer));
  if (footer.checksum != checksumOf(footer))
    return failure(Code::Rejected, "its footer is damaged");
  if (footer.version != footerVersion)
    return failure(Code::Rejected, "it has artifact version ", footer.version,
                   ", this runtime reads ", footerVersion);
  return footer;
}

Status readParts(Artifact &artifact) {
  Bytes file = artifact.file.bytes();
  STRETTO_ASSIGN(Footer footer, readFooter(file));
  if (footer.payload.offset + footer.payload.size + sizeof(Footer) != file.size)
    return failure(Code::Rejected, "its payload of ", footer.payload.size,
                   " bytes at ", footer.payload.offset,
                   " does not end the file of ", file.size, " bytes");
  STRETTO_TRY(readPart(file, footer.payload, "payload").status());
  STRETTO_ASSIGN(artifact.runner, readPart(file, footer.runner, "runner"));
  STRETTO_ASSIGN(artifact.program, readPart(file, footer.program, "Program"));
  STRETTO_ASSIGN(artifact.kernels, readPart(file, footer.kernels, "kernels"));
  return Status::ok();
}

/// A temporary file that is renamed when complete and removed otherwise.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path)
      : path(path), temporary(path + ".tmp." + std::to_string(getpid())) {}
  ~AtomicFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (!temporary.empty())
      ::unlink(temporary.c_str());
  }

  Status open() {
    struct stat facts;
    if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
      return failure(Code::RunFailed, "cannot write '", path,
                     "': it is not a regular file");
    descriptor = ::open(temporary.c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (descriptor < 0 || fchmod(descriptor, 0755) != 0)
      return error();
    return Status::ok();
  }
  Status write(Bytes bytes) {
    while (bytes.size > 0) {
      ssize_t written = ::write(descriptor, bytes.data, bytes.size);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return error();
      bytes = bytes.slice(written, bytes.size - written);
    }
    return Status::ok();
  }
  Status commit() {
    if (fsync(descriptor) != 0 || ::close(std::exchange(descriptor, -1)) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0)
      return error();
    temporary.clear();
    return Status::ok();
  }

private:
  Status error() const {
    return failure(Code::RunFailed, "cannot write '", path,
                   "': ", std::strerror(errno));
  }

  std::string path, temporary;
  int descriptor = -1;
};

uint64_t alignUp(uint64_t offset) { return (offset + 63) / 64 * 64; }

} // namespace

Result<Artifact> openArtifact(const std::string &path) {
  Artifact artifact;
  STRETTO_ASSIGN(artifact.file, MappedFile::open(path));
  if (Status status = readParts(artifact); !status)
    return status.within("'" + path + "' cannot be used");
  return artifact;
}

Result<bool> hasPayload(const std::string &path) {
  STRETTO_ASSIGN(MappedFile file, MappedFile::open(path));
  return endsInMagic(file.bytes());
}

Status writeArtifact(const std::string &path, Bytes runner, Bytes program,
                     Bytes kernels) {
  std::string payload; // from the end of the runner to the footer
  Footer footer = {};
  footer.runner = {0, runner.size, xxh3(runner)};
  auto append = [&](Bytes part) -> Part {
    uint64_t offset = alignUp(runner.size + payload.size());
    payload.resize(offset - runner.size);
    payload.append(reinterpret_cast<const char *>(part.data), part.size);
    return {offset, part.size, xxh3(part)};
  };
  footer.program = append(program);
  footer.kernels = append(kernels);
  Bytes payloadBytes(payload.data(), payload.size());
  footer.payload = {runner.size, payload.size(), xxh3(payloadBytes)};
  footer.version = footerVersion;
  footer.checksum = checksumOf(footer);
  std::memcpy(footer.magic, magic, sizeof(magic));

  AtomicFile file(path);
  STRETTO_TRY(file.open());
  STRETTO_TRY(file.write(runner));
  STRETTO_TRY(file.write(payloadBytes));
  STRETTO_TRY(file.write(Bytes(&footer, sizeof(footer))));
  return file.commit();
}

} // namespace stretto::runtime
