//===- YamlReader.h - typed, checked reading of a YAML tree -----*- C++ -*-===//
//
// YamlMap reads the keys of one map into typed fields: a key that is absent
// leaves the field's default, a wrong type or a value out of range is an error
// that says what was expected and what was found, and finish() reports every
// key that nobody asked for, with the nearest key that exists. Reading goes on
// after an error, so that one run shows all of them.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SUPPORT_YAMLREADER_H
#define STRETTO_SUPPORT_YAMLREADER_H

#include "stretto/Support/Yaml.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace stretto {

struct IntegerRange {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
  /// "an integer of at least 1".
  std::string describe() const;
};

struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool excludesMin = false;
  bool excludesMax = false;
  /// "a number of at least 0 and less than 1".
  std::string describe() const;
  bool contains(double value) const;
};

/// The readers of single values. `what` names the value in messages, for
/// instance 'optimizer.lr'. Nothing when an error was reported.
std::optional<int64_t> readInteger(const YamlNode &node, llvm::StringRef what,
                                   IntegerRange range, Diagnostics &);
std::optional<double> readNumber(const YamlNode &node, llvm::StringRef what,
                                 NumberRange range, Diagnostics &);
std::optional<std::string> readWord(const YamlNode &node, llvm::StringRef what,
                                    Diagnostics &);
/// One word, or a list of words.
std::optional<std::vector<std::string>>
readWords(const YamlNode &node, llvm::StringRef what, Diagnostics &);

class YamlMap {
public:
  /// `path` names the map in messages: "" for the document, "optimizer".
  /// Reports an error when the node is no map; every key then reads as absent.
  YamlMap(const YamlNode &node, llvm::StringRef path, Diagnostics &diagnostics);

  /// The value of a key, or null; marks the key as known.
  const YamlNode *find(llvm::StringRef key);
  /// Marks a key as known without reading it.
  void allow(llvm::StringRef key) { (void)find(key); }

  bool integer(llvm::StringRef key, int64_t &field, IntegerRange range);
  bool unsignedInteger(llvm::StringRef key, uint64_t &field);
  bool number(llvm::StringRef key, double &field, NumberRange range);
  bool word(llvm::StringRef key, std::string &field);
  bool words(llvm::StringRef key, std::vector<std::string> &field);
  bool bytes(llvm::StringRef key, int64_t &field);

  /// One of a closed set of names.
  template <typename Enum>
  bool choice(llvm::StringRef key, Enum &field,
              llvm::ArrayRef<std::pair<llvm::StringRef, Enum>> names) {
    std::vector<llvm::StringRef> spellings;
    for (const auto &name : names)
      spellings.push_back(name.first);
    std::optional<size_t> index = choose(key, spellings);
    if (index)
      field = names[*index].second;
    return index.has_value();
  }

  /// Reads `key: 1` with the only version that is known.
  void version(llvm::StringRef key, int64_t known);

  /// Reports the keys that were never asked for.
  void finish();

  Diagnostics &diagnostics() { return diags; }
  const SourceLocation &location() const { return node.location; }
  /// The full name of a key of this map, "optimizer.lr".
  std::string name(llvm::StringRef key) const;

private:
  std::optional<size_t> choose(llvm::StringRef key,
                               llvm::ArrayRef<llvm::StringRef> names);

  const YamlNode &node;
  std::string path;
  Diagnostics &diags;
  std::vector<std::string> known;
};

} // namespace stretto

#endif // STRETTO_SUPPORT_YAMLREADER_H
