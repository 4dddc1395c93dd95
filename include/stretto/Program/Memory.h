//===- Memory.h - the memory that a Program takes ---------------*- C++ -*-===//
//
// Peak bytes of a rank by category. The arena is one range per region, so the
// peak is their sum, known before anything runs.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_MEMORY_H
#define STRETTO_PROGRAM_MEMORY_H

#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include "stretto/Runtime/Program.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <vector>

namespace stretto {

struct MemoryRow {
  program::Region region = program::Region::Parameters;
  uint64_t bytes = 0;
  /// Most bytes alive at one time; what is more in `bytes` is fragmentation.
  /// Known to the compiler only.
  std::optional<uint64_t> live;
};

/// Of every region, in order, also empty ones.
std::vector<MemoryRow> memoryOf(const runtime::Program &program);
std::vector<MemoryRow> memoryOf(mlir::ModuleOp program);

/// What the runtime allocates: every region rounded up to 64 bytes.
uint64_t arenaBytes(llvm::ArrayRef<MemoryRow> rows);

/// A table for people: category, bytes, share, fragmentation when known.
void printMemory(llvm::raw_ostream &os, llvm::ArrayRef<MemoryRow> rows);

/// {"parameters": {"bytes": 256, "live": 256}, ..., "arena": 1024}
llvm::json::Value toJson(llvm::ArrayRef<MemoryRow> rows);

} // namespace stretto

#endif // STRETTO_PROGRAM_MEMORY_H
