//===- Verifier.h - the parts of the static verifier ------------*- C++ -*-===//
//
// One function per chapter of verifyProgram; each reports all it finds.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_VERIFIER_H
#define STRETTO_PROGRAM_VERIFIER_H

#include "ProgramWalk.h"

#include "stretto/Support/Diagnostics.h"

namespace stretto {

/// Errors of a Program: they have a place in it, not in a file.
class Findings {
public:
  explicit Findings(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void error(const llvm::Twine &text) {
    (void)diagnostics.error(SourceLocation(), text);
    ++found;
  }
  /// Whether a reader would still look at more.
  bool enough() const { return found >= 20; }
  unsigned number() const { return found; }

private:
  Diagnostics &diagnostics;
  unsigned found = 0;
};

void verifySegments(const runtime::Program &program, Findings &findings);
void verifyCalls(const runtime::Program &program, Findings &findings);
void verifyMemory(const runtime::Program &program, Findings &findings);
void verifyParameters(const runtime::Program &program, Findings &findings);

} // namespace stretto

#endif // STRETTO_PROGRAM_VERIFIER_H
