//===- Yaml.h - strict YAML, as a tree with positions -----------*- C++ -*-===//
//
// Reads one YAML document into a small tree in which every node and key knows
// its line and column. Strict: duplicate keys, anchors, aliases, tags, a second
// document and nesting deeper than 32 are errors. Never aborts, whatever the
// bytes are. YamlReader.h gives the tree types.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SUPPORT_YAML_H
#define STRETTO_SUPPORT_YAML_H

#include "stretto/Support/Diagnostics.h"

namespace stretto {

struct YamlNode {
  enum class Kind { Null, Scalar, List, Map };
  struct Key {
    std::string name;
    SourceLocation location;
  };

  Kind kind = Kind::Null;
  SourceLocation location;
  std::string scalar;          // Scalar: its text, quotes and escapes resolved
  bool isQuoted = false;       // Scalar: written in quotes, so never a number
  std::vector<Key> keys;       // Map: keys[i] has the value items[i]
  std::vector<YamlNode> items; // List, Map

  bool isScalar() const { return kind == Kind::Scalar; }
  bool isList() const { return kind == Kind::List; }
  bool isMap() const { return kind == Kind::Map; }
  /// The value of a key, or null.
  const YamlNode *find(llvm::StringRef key) const;
  /// What it is, for a message: "'abc'", "a list", "a map", "nothing".
  std::string describe() const;
};

/// Parses `text`; an empty document is a Null node. `file` is the name shown
/// in locations. On failure at least one error is in `diagnostics`.
llvm::FailureOr<YamlNode> parseYaml(llvm::StringRef text, llvm::StringRef file,
                                    Diagnostics &diagnostics);

/// Reads a file that a user named, at most 1 MiB of it.
llvm::FailureOr<std::string> readTextFile(llvm::StringRef path,
                                          Diagnostics &diagnostics);

} // namespace stretto

#endif // STRETTO_SUPPORT_YAML_H
