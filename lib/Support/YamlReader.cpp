//===- YamlReader.cpp - typed, checked reading of a YAML tree -------------===//
#include "stretto/Support/YamlReader.h"

#include "stretto/Support/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace stretto;

std::string IntegerRange::describe() const {
  const IntegerRange all;
  if (min != all.min && max != all.max)
    return "an integer from " + llvm::itostr(min) + " to " + llvm::itostr(max);
  if (min != all.min)
    return "an integer of at least " + llvm::itostr(min);
  if (max != all.max)
    return "an integer of at most " + llvm::itostr(max);
  return "an integer";
}

std::string NumberRange::describe() const {
  std::string text = "a number";
  if (std::isfinite(min))
    text +=
        (excludesMin ? " greater than " : " of at least ") + formatNumber(min);
  if (std::isfinite(max))
    text += std::string(std::isfinite(min) ? " and" : "") +
            (excludesMax ? " less than " : " at most ") + formatNumber(max);
  return text;
}

bool NumberRange::contains(double value) const {
  if (!std::isfinite(value))
    return false;
  return (excludesMin ? value > min : value >= min) &&
         (excludesMax ? value < max : value <= max);
}

static void reportExpected(const YamlNode &node, llvm::StringRef what,
                           const llvm::Twine &expected, Diagnostics &diags) {
  (void)diags.error(node.location, "'" + what + "' must be " + expected +
                                       ", got " + node.describe());
}

std::optional<int64_t> stretto::readInteger(const YamlNode &node,
                                            llvm::StringRef what,
                                            IntegerRange range,
                                            Diagnostics &diags) {
  int64_t value;
  bool isInteger = node.isScalar() && !node.isQuoted &&
                   !llvm::StringRef(node.scalar).getAsInteger(10, value);
  if (isInteger && value >= range.min && value <= range.max)
    return value;
  reportExpected(node, what, range.describe(), diags);
  return std::nullopt;
}

/// Decimal numbers only: no hexadecimal, no inf, no nan.
static bool parseDecimal(llvm::StringRef text, double &value) {
  return !text.empty() &&
         text.find_first_not_of("0123456789+-.eE") == llvm::StringRef::npos &&
         !text.getAsDouble(value) && std::isfinite(value);
}

std::optional<double> stretto::readNumber(const YamlNode &node,
                                          llvm::StringRef what,
                                          NumberRange range,
                                          Diagnostics &diags) {
  double value;
  bool isNumber =
      node.isScalar() && !node.isQuoted && parseDecimal(node.scalar, value);
  if (isNumber && range.contains(value))
    return value;
  reportExpected(node, what, range.describe(), diags);
  return std::nullopt;
}

std::optional<std::string> stretto::readWord(const YamlNode &node,
                                             llvm::StringRef what,
                                             Diagnostics &diags) {
  if (node.isScalar() && !node.scalar.empty())
    return node.scalar;
  reportExpected(node, what, "a word", diags);
  return std::nullopt;
}

std::optional<std::vector<std::string>> stretto::readWords(const YamlNode &node,
                                                           llvm::StringRef what,
                                                           Diagnostics &diags) {
  std::vector<std::string> result;
  llvm::ArrayRef<YamlNode> nodes =
      node.isList() ? llvm::ArrayRef(node.items) : llvm::ArrayRef(node);
  for (const YamlNode &item : nodes) {
    if (!item.isScalar() || item.scalar.empty()) {
      reportExpected(item, what, "a word or a list of words", diags);
      return std::nullopt;
    }
    result.push_back(item.scalar);
  }
  return result;
}

YamlMap::YamlMap(const YamlNode &node, llvm::StringRef path,
                 Diagnostics &diagnostics)
    : node(node), path(path.str()), diags(diagnostics) {
  if (!node.isMap() && !(path.empty() && node.kind == YamlNode::Kind::Null))
    reportExpected(node, path.empty() ? "the document" : path,
                   "a map of keys and values", diags);
}

std::string YamlMap::name(llvm::StringRef key) const {
  return path.empty() ? key.str() : path + "." + key.str();
}

const YamlNode *YamlMap::find(llvm::StringRef key) {
  if (!llvm::is_contained(known, key))
    known.push_back(key.str());
  return node.isMap() ? node.find(key) : nullptr;
}

bool YamlMap::integer(llvm::StringRef key, int64_t &field, IntegerRange range) {
  const YamlNode *value = find(key);
  std::optional<int64_t> read =
      value ? readInteger(*value, name(key), range, diags) : std::nullopt;
  field = read.value_or(field);
  return read.has_value();
}

bool YamlMap::unsignedInteger(llvm::StringRef key, uint64_t &field) {
  const YamlNode *value = find(key);
  if (!value)
    return false;
  uint64_t read;
  if (value->isScalar() && !value->isQuoted &&
      !llvm::StringRef(value->scalar).getAsInteger(10, read)) {
    field = read;
    return true;
  }
  reportExpected(*value, name(key), "an integer from 0 to 2^64 - 1", diags);
  return false;
}

bool YamlMap::number(llvm::StringRef key, double &field, NumberRange range) {
  const YamlNode *value = find(key);
  std::optional<double> read =
      value ? readNumber(*value, name(key), range, diags) : std::nullopt;
  field = read.value_or(field);
  return read.has_value();
}

bool YamlMap::word(llvm::StringRef key, std::string &field) {
  const YamlNode *value = find(key);
  std::optional<std::string> read =
      value ? readWord(*value, name(key), diags) : std::nullopt;
  field = read.value_or(field);
  return read.has_value();
}

bool YamlMap::words(llvm::StringRef key, std::vector<std::string> &field) {
  const YamlNode *value = find(key);
  std::optional<std::vector<std::string>> read =
      value ? readWords(*value, name(key), diags) : std::nullopt;
  field = read.value_or(field);
  return read.has_value();
}

bool YamlMap::bytes(llvm::StringRef key, int64_t &field) {
  const YamlNode *value = find(key);
  if (!value)
    return false;
  std::optional<int64_t> read =
      value->isScalar() ? parseBytes(value->scalar) : std::nullopt;
  if (!read)
    reportExpected(*value, name(key), "a size in bytes such as 25MiB", diags);
  field = read.value_or(field);
  return read.has_value();
}

std::optional<size_t> YamlMap::choose(llvm::StringRef key,
                                      llvm::ArrayRef<llvm::StringRef> names) {
  const YamlNode *value = find(key);
  if (!value)
    return std::nullopt;
  const auto *found = value->isScalar()
                          ? llvm::find(names, llvm::StringRef(value->scalar))
                          : names.end();
  if (found != names.end())
    return found - names.begin();
  std::string hint;
  if (value->isScalar())
    if (llvm::StringRef best = nearest(value->scalar, names); !best.empty())
      hint = "; did you mean " + quote(best) + "?";
  (void)diags.error(value->location, "'" + name(key) + "' must be one of " +
                                         llvm::join(names, ", ") + ", got " +
                                         value->describe() + hint);
  return std::nullopt;
}

void YamlMap::version(llvm::StringRef key, int64_t knownVersion) {
  const YamlNode *value = find(key);
  std::string wanted = (key + ": " + llvm::Twine(knownVersion)).str();
  if (!value) {
    if (node.isMap() || node.kind == YamlNode::Kind::Null)
      (void)diags.error(node.location,
                        "missing the schema version; add '" + wanted + "'");
    return;
  }
  if (value->isScalar() && !value->isQuoted &&
      value->scalar == llvm::itostr(knownVersion))
    return;
  bool isText = value->isScalar() && value->isQuoted;
  (void)diags.error(value->location,
                    "schema version " + value->describe() +
                        (isText ? " is text, not a number" : " is not known") +
                        "; this build reads '" + wanted + "'");
}

void YamlMap::finish() {
  std::vector<llvm::StringRef> names(known.begin(), known.end());
  std::string where = path.empty() ? "" : " in '" + path + "'";
  for (const YamlNode::Key &key : node.keys)
    if (!llvm::is_contained(known, key.name))
      (void)diags.error(key.location,
                        "unknown key " + quote(key.name) + where +
                            suggest(key.name, names, "known keys"));
}
