//===- StrictJson.h - JSON from anywhere ------------------------*- C++ -*-===//
//
// Files that people and other programs wrote: what JSON itself lets pass (a key
// that comes twice) or what would overflow a stack (a million brackets) is an
// error here.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_STRICTJSON_H
#define STRETTO_RUNTIME_STRICTJSON_H

#include "stretto/Runtime/Bytes.h"

#include <nlohmann/json.hpp>

namespace stretto::runtime {

/// The JSON object that `text` is. An error (exit code 3) does not name the
/// file: "it is not a JSON object (truncated?)", "key 'x' comes twice".
Result<nlohmann::json> parseStrictJson(Bytes text);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_STRICTJSON_H
