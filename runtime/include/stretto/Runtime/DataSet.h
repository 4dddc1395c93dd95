//===- DataSet.h - tokens to train on ---------------------------*- C++ -*-===//
//
// A data set is a sequence of tokens, read at random: text files as bytes, one
// after the other, or a memory-mapped token file. Nothing is copied at opening,
// however large the files are.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DATASET_H
#define STRETTO_RUNTIME_DATASET_H

#include "stretto/Runtime/Status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stretto::runtime {

class DataSet {
public:
  virtual ~DataSet() = default;

  virtual uint64_t tokens() const = 0;
  /// Every token is promised to be less than this.
  virtual uint64_t vocabulary() const = 0;
  /// Of the tokens: the same for the same data, almost surely another for other
  /// data; of a large data set only blocks at even distances are looked at.
  virtual uint64_t fingerprint() const = 0;
  /// Whether a token is a byte of text, so that bits per byte mean something.
  virtual bool isText() const = 0;

  /// Tokens [begin, begin + count) to `target`; begin + count <= tokens().
  /// A token that is not less than `bound` is an error that names its place.
  virtual Status read(uint64_t begin, uint64_t count, uint64_t bound,
                      int32_t *target) const = 0;
};

/// The files, concatenated, as bytes.
Result<std::unique_ptr<DataSet>>
openText(const std::vector<std::string> &paths);

/// Little-endian tokens in `X.bin` beside an index `X.json`:
///   {"dtype": "u16" or "u32", "tokens": N, "vocabulary": V}
Result<std::unique_ptr<DataSet>> openTokens(const std::string &path);

/// One path `X.bin` that has an `X.json` beside it is a token file; everything
/// else is text.
Result<std::unique_ptr<DataSet>>
openDataSet(const std::vector<std::string> &paths);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DATASET_H
