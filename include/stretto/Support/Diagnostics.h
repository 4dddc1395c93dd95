//===- Diagnostics.h - errors about files that people write -----*- C++ -*-===//
//
// Collects errors, warnings and notes about recipes, plans and other text that
// a user wrote, each with file, line and column, and prints them in clang's
// manner with the source line and a caret. Needs no MLIRContext, so that files
// can be checked (and fuzzed) before any IR exists.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_SUPPORT_DIAGNOSTICS_H
#define STRETTO_SUPPORT_DIAGNOSTICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace stretto {

/// Where something was written. Line and column count from 1; line 0 means
/// that nobody wrote it (a default).
struct SourceLocation {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool isKnown() const { return line != 0; }
  /// "plan.yaml:4:5", or "default" when unknown.
  std::string str() const;
};

class Diagnostics {
public:
  enum class Severity { Error, Warning, Note };
  struct Entry {
    Severity severity;
    SourceLocation location;
    std::string message;
  };

  /// Remembers the text of a file, so that print can show its lines.
  void addSource(llvm::StringRef file, llvm::StringRef text);

  /// Records an error and returns failure(). After maxErrors only counts.
  llvm::LogicalResult error(const SourceLocation &at, const llvm::Twine &text);
  void warning(const SourceLocation &at, const llvm::Twine &text);
  /// Belongs to the error or warning before it.
  void note(const SourceLocation &at, const llvm::Twine &text);

  bool hasErrors() const { return numErrors != 0; }
  unsigned errorCount() const { return numErrors; }
  llvm::ArrayRef<Entry> entries() const { return list; }

  void print(llvm::raw_ostream &os) const;
  /// The entries one a line, without source lines: "a.yaml:1:2: error: ...".
  std::string summary() const;

private:
  static constexpr unsigned maxErrors = 20;
  struct Source {
    std::string file;
    std::vector<std::string> lines;
  };
  const std::string *lineAt(const SourceLocation &at) const;
  void add(Severity severity, const SourceLocation &at,
           const llvm::Twine &text);

  std::vector<Source> sources;
  std::vector<Entry> list;
  unsigned numErrors = 0;
};

} // namespace stretto

#endif // STRETTO_SUPPORT_DIAGNOSTICS_H
