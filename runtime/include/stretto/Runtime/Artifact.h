//===- Artifact.h - the executable that carries its Program -----*- C++ -*-===//
//
// An artifact is the runner's executable followed by a payload (the Program,
// the kernels' shared object) and a footer with offsets, sizes and checksums.
// The compiler writes it; the runner opens itself.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_ARTIFACT_H
#define STRETTO_RUNTIME_ARTIFACT_H

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Status.h"

#include <string>

namespace stretto::runtime {

/// The payload stays mapped as long as the Artifact lives.
struct Artifact {
  MappedFile file;
  Bytes runner;  ///< the executable without payload
  Bytes program; ///< serialized Program
  Bytes kernels; ///< shared object, may be empty
};

/// Opens and verifies `path` ("/proc/self/exe" for the running program). A file
/// that carries no payload, is truncated or altered is an error.
Result<Artifact> openArtifact(const std::string &path);

/// Whether the file ends in a footer (intact or not).
Result<bool> hasPayload(const std::string &path);

/// Writes runner + payload to `path`, mode 755: a temporary file beside it,
/// then a rename, so that `path` is never seen half written.
Status writeArtifact(const std::string &path, Bytes runner, Bytes program,
                     Bytes kernels);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_ARTIFACT_H
