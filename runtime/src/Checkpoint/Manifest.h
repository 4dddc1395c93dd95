//===- Manifest.h - the index of a checkpoint -------------------*- C++ -*-===//
//
// What manifest.json holds, and its checks: every tensor's boxes are disjoint
// and cover it, and the text carries a checksum of itself.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_CHECKPOINT_MANIFEST_H
#define STRETTO_RUNTIME_SRC_CHECKPOINT_MANIFEST_H

#include "stretto/Runtime/Bytes.h"
#include "stretto/Runtime/Checkpoint.h"

#include <map>

namespace stretto::runtime {

/// One box of one tensor, stored in `file` under the tensor's name.
struct StoredBox {
  std::string name, dtype, file;
  std::vector<int64_t> shape, begin, end;
  uint64_t checksum = 0; ///< xxh3_64 of the data

  Box box() const { return denseBox(begin, end); }
};

struct Manifest {
  CheckpointFacts facts;
  std::map<std::string, std::vector<StoredBox>> tensors;

  std::string text() const;
  /// Checked; an error does not name the file.
  static Result<Manifest> parse(Bytes text);
};

/// Boxes as text, for the exchange between ranks.
std::string boxesToText(const std::vector<StoredBox> &boxes);
Result<std::vector<StoredBox>> boxesFromText(const std::string &text);

/// Disjoint boxes that cover each tensor exactly.
Status checkCoverage(const Manifest &manifest);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_CHECKPOINT_MANIFEST_H
