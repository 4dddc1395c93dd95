//===- TokenIndex.h - what lies in a token file -----------------*- C++ -*-===//
//
// The JSON beside a file of tokens.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_DATA_TOKENINDEX_H
#define STRETTO_RUNTIME_SRC_DATA_TOKENINDEX_H

#include "stretto/Runtime/Bytes.h"

#include <string>

namespace stretto::runtime {

struct TokenIndex {
  std::string dtype;                   ///< "u16" or "u32"
  uint64_t tokens = 0, vocabulary = 0; ///< both positive
};

/// An error does not name the file.
Result<TokenIndex> parseTokenIndex(Bytes text);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_DATA_TOKENINDEX_H
