//===- stretto-runner.cpp - runs an artifact
//----------------------------------===//
//
// Alone, it takes the artifact to run as its first argument; with a payload
// behind it, it is the artifact.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include <cstdio>
#include <exception>

using namespace stretto;
using namespace stretto::runtime;

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
  const std::string self = "/proc/self/exe";
  Result<bool> embedded = hasPayload(self);
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
