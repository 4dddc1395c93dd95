//===- Yaml.cpp - strict YAML, as a tree with positions -------------------===//
//
// llvm::yaml parses lazily and recurses while it skips what nobody looked at.
// The conversion therefore visits every node itself, counts the depth, and
// leaves the stream alone after the first error.
//
//===----------------------------------------------------------------------===//
#include "stretto/Support/Yaml.h"

#include "stretto/Support/Text.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace stretto;

static constexpr unsigned maxDepth = 32;
static constexpr size_t maxFileBytes = 1 << 20;

const YamlNode *YamlNode::find(llvm::StringRef key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i].name == key)
      return &items[i];
  return nullptr;
}

std::string YamlNode::describe() const {
  switch (kind) {
  case Kind::Null:
    return "nothing";
  case Kind::Scalar:
    return quote(scalar);
  case Kind::List:
    return "a list";
  case Kind::Map:
    return "a map";
  }
  return "nothing";
}

namespace {
class Converter {
public:
  Converter(llvm::StringRef text, llvm::StringRef file,
            Diagnostics &diagnostics)
      : text(text), file(file), diagnostics(diagnostics) {
    sources.setDiagHandler(&Converter::onSyntaxError, this);
  }

  llvm::FailureOr<YamlNode> run();

private:
  static void onSyntaxError(const llvm::SMDiagnostic &syntax, void *self);
  SourceLocation locate(const llvm::yaml::Node &node) const;
  llvm::LogicalResult fail(const llvm::yaml::Node &node,
                           const llvm::Twine &message) {
    return diagnostics.error(locate(node), message);
  }

  llvm::LogicalResult convert(llvm::yaml::Node *from, YamlNode &to,
                              unsigned depth);
  llvm::LogicalResult convertScalar(llvm::yaml::ScalarNode &from, YamlNode &to);
  llvm::LogicalResult convertList(llvm::yaml::SequenceNode &from, YamlNode &to,
                                  unsigned depth);
  llvm::LogicalResult convertMap(llvm::yaml::MappingNode &from, YamlNode &to,
                                 unsigned depth);
  llvm::LogicalResult convertKey(llvm::yaml::KeyValueNode &from, YamlNode &to);

  llvm::StringRef text;
  llvm::StringRef file;
  Diagnostics &diagnostics;
  llvm::SourceMgr sources;
  std::unique_ptr<llvm::yaml::Stream> stream;
};
} // namespace

void Converter::onSyntaxError(const llvm::SMDiagnostic &syntax, void *self) {
  auto &converter = *static_cast<Converter *>(self);
  SourceLocation at{converter.file.str(),
                    unsigned(std::max(1, syntax.getLineNo())),
                    unsigned(std::max(0, syntax.getColumnNo()) + 1)};
  std::string message = syntax.getMessage().str();
  if (!message.empty())
    message[0] = llvm::toLower(message[0]);
  llvm::StringRef line = syntax.getLineContents();
  if (line.take_while([](char c) { return c == ' ' || c == '\t'; })
          .contains('\t'))
    message += "; indent with spaces, YAML takes no tabs";
  (void)converter.diagnostics.error(at, "not valid YAML: " + message);
}

/// Where a node begins. The parser notes the token after an alias or after the
/// bracket of a flow collection; step back to what the user would point at.
SourceLocation Converter::locate(const llvm::yaml::Node &node) const {
  const char *pointer = node.getSourceRange().Start.getPointer();
  if (pointer < text.begin() || pointer > text.end())
    return {file.str(), 1, 1};
  llvm::StringRef before(text.data(), pointer - text.data());
  if (llvm::isa<llvm::yaml::AliasNode>(node))
    before = before.take_front(before.rfind('*'));
  if (llvm::isa<llvm::yaml::SequenceNode, llvm::yaml::MappingNode>(node)) {
    llvm::StringRef bracket = before.rtrim();
    if (bracket.ends_with("[") || bracket.ends_with("{"))
      before = bracket.drop_back();
  }
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  return {file.str(), unsigned(before.count('\n') + 1),
          unsigned(before.size() - lineStart + 1)};
}

llvm::LogicalResult Converter::convertScalar(llvm::yaml::ScalarNode &from,
                                             YamlNode &to) {
  llvm::SmallString<64> storage;
  to.kind = YamlNode::Kind::Scalar;
  to.scalar = from.getValue(storage).str();
  to.isQuoted = from.getRawValue().starts_with("\"") ||
                from.getRawValue().starts_with("'");
  return llvm::success(!stream->failed());
}

llvm::LogicalResult Converter::convertList(llvm::yaml::SequenceNode &from,
                                           YamlNode &to, unsigned depth) {
  to.kind = YamlNode::Kind::List;
  for (llvm::yaml::Node &item : from) {
    to.items.emplace_back();
    if (stream->failed() || failed(convert(&item, to.items.back(), depth + 1)))
      return llvm::failure();
  }
  return llvm::success(!stream->failed());
}

llvm::LogicalResult Converter::convertKey(llvm::yaml::KeyValueNode &from,
                                          YamlNode &to) {
  llvm::yaml::Node *node = from.getKey();
  if (!node || stream->failed())
    return llvm::failure();
  auto *scalar = llvm::dyn_cast<llvm::yaml::ScalarNode>(node);
  if (!scalar)
    return fail(*node, "a key must be a plain word");
  YamlNode key;
  if (failed(convert(node, key, 0)))
    return llvm::failure();
  for (const YamlNode::Key &earlier : to.keys) {
    if (earlier.name != key.scalar)
      continue;
    (void)fail(*node, "key " + quote(key.scalar) + " is given twice");
    diagnostics.note(earlier.location, "the first one is here");
  }
  to.keys.push_back({key.scalar, key.location});
  return llvm::success();
}

llvm::LogicalResult Converter::convertMap(llvm::yaml::MappingNode &from,
                                          YamlNode &to, unsigned depth) {
  to.kind = YamlNode::Kind::Map;
  for (llvm::yaml::KeyValueNode &entry : from) {
    if (stream->failed() || failed(convertKey(entry, to)))
      return llvm::failure();
    to.items.emplace_back();
    if (failed(convert(entry.getValue(), to.items.back(), depth + 1)))
      return llvm::failure();
    // Nothing has no place of its own; the parser names that of the next token.
    if (to.items.back().kind == YamlNode::Kind::Null)
      to.items.back().location = to.keys.back().location;
  }
  return llvm::success(!stream->failed());
}

llvm::LogicalResult Converter::convert(llvm::yaml::Node *from, YamlNode &to,
                                       unsigned depth) {
  if (!from || stream->failed())
    return llvm::failure();
  to.location = locate(*from);
  if (depth > maxDepth)
    return fail(*from, "nested deeper than " + llvm::Twine(maxDepth));
  if (llvm::isa<llvm::yaml::AliasNode>(from))
    return fail(*from,
                "aliases (*name) are not supported; write the value out");
  if (!from->getAnchor().empty())
    return fail(*from,
                "anchors (&name) are not supported; write the value out");
  if (!from->getRawTag().empty())
    return fail(*from, "tags (!name) are not supported");
  if (llvm::isa<llvm::yaml::BlockScalarNode>(from))
    return fail(*from, "block text (| or >) is not supported; write one line");
  if (auto *scalar = llvm::dyn_cast<llvm::yaml::ScalarNode>(from))
    return convertScalar(*scalar, to);
  if (auto *list = llvm::dyn_cast<llvm::yaml::SequenceNode>(from))
    return convertList(*list, to, depth);
  if (auto *map = llvm::dyn_cast<llvm::yaml::MappingNode>(from))
    return convertMap(*map, to, depth);
  return llvm::success(); // Null
}

llvm::FailureOr<YamlNode> Converter::run() {
  stream = std::make_unique<llvm::yaml::Stream>(text, sources, false);
  llvm::yaml::document_iterator document = stream->begin();
  YamlNode root;
  root.location = {file.str(), 1, 1};
  unsigned errorsBefore = diagnostics.errorCount();
  llvm::LogicalResult result = llvm::success();
  if (document != stream->end())
    result = convert(document->getRoot(), root, 0);
  if (succeeded(result) && document != stream->end()) {
    ++document;
    if (!stream->failed() && document != stream->end())
      result = diagnostics.error({file.str(), 1, 1},
                                 "more than one YAML document in the file");
  }
  if (diagnostics.errorCount() != errorsBefore)
    return llvm::failure();
  if (failed(result) || stream->failed())
    return diagnostics.error({file.str(), 1, 1}, "not valid YAML");
  return root;
}

/// Bytes that no recipe or plan needs and that confuse terminals and parsers.
static llvm::LogicalResult checkBytes(llvm::StringRef text,
                                      llvm::StringRef file,
                                      Diagnostics &diagnostics) {
  if (text.size() > maxFileBytes)
    return diagnostics.error({file.str(), 1, 1},
                             "the file has " + llvm::Twine(text.size()) +
                                 " bytes; expected at most " +
                                 formatBytes(maxFileBytes));
  unsigned line = 1, column = 1;
  for (unsigned char c : text) {
    bool isControl = (c < 0x20 && c != '\n' && c != '\r' && c != '\t');
    if (isControl)
      return diagnostics.error({file.str(), line, column},
                               "control character " + llvm::Twine(unsigned(c)) +
                                   " in the text");
    column = c == '\n' ? 1 : column + 1;
    line += c == '\n';
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  if (!llvm::isLegalUTF8String(&begin, end))
    return diagnostics.error({file.str(), line, 1}, "not valid UTF-8");
  return llvm::success();
}

llvm::FailureOr<YamlNode> stretto::parseYaml(llvm::StringRef text,
                                             llvm::StringRef file,
                                             Diagnostics &diagnostics) {
  diagnostics.addSource(file, text);
  if (failed(checkBytes(text, file, diagnostics)))
    return llvm::failure();
  // The scanner looks one byte past the end; a std::string has a zero there.
  std::string owned = text.str();
  return Converter(owned, file, diagnostics).run();
}

llvm::FailureOr<std::string> stretto::readTextFile(llvm::StringRef path,
                                                   Diagnostics &diagnostics) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return diagnostics.error({path.str(), 0, 0},
                             "cannot read the file: " +
                                 buffer.getError().message());
  return (*buffer)->getBuffer().str();
}
