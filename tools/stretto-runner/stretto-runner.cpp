//===- stretto-runner.cpp - runs an artifact
//----------------------------------===//
//
// Alone, it takes the artifact to run as its first argument; with a payload
// behind it, it is the artifact.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <exception>
#include <filesystem>

using namespace stretto;
using namespace stretto::runtime;

/// The running executable, by its name for messages when it still has one.
static std::string selfPath() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return !error && std::filesystem::exists(path, error) ? path.string()
                                                        : "/proc/self/exe";
}

/// Whether anything follows the ELF file, whose last part is its section
/// headers: then this was an artifact, and it lost its footer.
static Result<bool> hasTail(const std::string &path) {
  STRETTO_ASSIGN(MappedFile file, MappedFile::open(path));
  Elf64_Ehdr header;
  if (file.bytes().size < sizeof(header))
    return true;
  std::memcpy(&header, file.bytes().data, sizeof(header));
  return file.bytes().size !=
         header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
}

static Result<bool> isArtifact(const std::string &self) {
  STRETTO_ASSIGN(bool payload, hasPayload(self));
  STRETTO_ASSIGN(bool tail, hasTail(self));
  if (tail && !payload)
    return failure(Code::Rejected, "'", self,
                   "' is truncated or damaged; copy or compile it again");
  return payload;
}

static Status run(const std::string &path, const TrainOptions &options) {
  STRETTO_ASSIGN(Artifact artifact, openArtifact(path));
  return train(artifact, options);
}

static int report(const Status &status) {
  if (!status)
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.exitCode();
}

int main(int argc, char **argv) try {
  const std::string self = selfPath();
  Result<bool> embedded = isArtifact(self);
  if (!embedded)
    return report(embedded.status());
  runner::CommandLine commandLine;
  if (auto code = runner::parse(argc, argv, *embedded, commandLine))
    return *code;
  return report(
      run(*embedded ? self : commandLine.artifact, commandLine.options));
} catch (const std::exception &error) { // such as no memory
  std::fprintf(stderr, "error: internal: %s\n", error.what());
  return int(Code::Internal);
}
