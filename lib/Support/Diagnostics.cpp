//===- Diagnostics.cpp - errors about files that people write -------------===//
#include "stretto/Support/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace stretto;

std::string SourceLocation::str() const {
  if (!isKnown())
    return "default";
  return (file + ":" + llvm::Twine(line) + ":" + llvm::Twine(column)).str();
}

void Diagnostics::addSource(llvm::StringRef file, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> pieces;
  text.split(pieces, '\n');
  Source source{file.str(), {}};
  for (llvm::StringRef piece : pieces)
    source.lines.push_back(piece.rtrim('\r').str());
  sources.push_back(std::move(source));
}

void Diagnostics::add(Severity severity, const SourceLocation &at,
                      const llvm::Twine &text) {
  if (numErrors > maxErrors)
    return;
  list.push_back({severity, at, text.str()});
}

llvm::LogicalResult Diagnostics::error(const SourceLocation &at,
                                       const llvm::Twine &text) {
  if (++numErrors == maxErrors + 1) {
    list.push_back(
        {Severity::Error, at, "too many errors, the rest is hidden"});
    return llvm::failure();
  }
  add(Severity::Error, at, text);
  return llvm::failure();
}

void Diagnostics::warning(const SourceLocation &at, const llvm::Twine &text) {
  add(Severity::Warning, at, text);
}

void Diagnostics::note(const SourceLocation &at, const llvm::Twine &text) {
  add(Severity::Note, at, text);
}

const std::string *Diagnostics::lineAt(const SourceLocation &at) const {
  for (const Source &source : llvm::reverse(sources))
    if (source.file == at.file)
      return at.line <= source.lines.size() ? &source.lines[at.line - 1]
                                            : nullptr;
  return nullptr;
}

static llvm::StringRef spell(Diagnostics::Severity severity) {
  switch (severity) {
  case Diagnostics::Severity::Error:
    return "error";
  case Diagnostics::Severity::Warning:
    return "warning";
  case Diagnostics::Severity::Note:
    return "note";
  }
  return "error";
}

static void printHead(const Diagnostics::Entry &entry, llvm::raw_ostream &os) {
  if (entry.location.isKnown())
    os << entry.location.str() << ": ";
  else if (!entry.location.file.empty())
    os << entry.location.file << ": ";
  os << spell(entry.severity) << ": " << entry.message << '\n';
}

/// Blanks up to the column; tabs stay tabs, so that the caret lines up.
static std::string indentLike(llvm::StringRef line, unsigned column) {
  std::string indent;
  for (char c : line.take_front(column ? column - 1 : 0))
    indent += c == '\t' ? '\t' : ' ';
  return indent;
}

void Diagnostics::print(llvm::raw_ostream &os) const {
  constexpr size_t maxWidth = 200; // a longer line is not worth showing
  for (const Entry &entry : list) {
    printHead(entry, os);
    const std::string *line =
        entry.location.isKnown() ? lineAt(entry.location) : nullptr;
    if (line && line->size() <= maxWidth)
      os << *line << '\n' << indentLike(*line, entry.location.column) << "^\n";
  }
}

std::string Diagnostics::summary() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Entry &entry : list)
    printHead(entry, os);
  return text;
}
