//===- Memory.h - the memory that a Program takes ---------------*- C++ -*-===//
//
// Peak bytes of a rank by category, known before anything runs: regions with a
// range of the arena of their own, what is alive of the transient ones when
// most is, and what of their common range is then not in use.
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
  uint64_t bytes = 0; ///< to the end of its last slot
  /// Bytes alive when most of the transient regions are; not always known.
  std::optional<uint64_t> live;

  /// What the category takes of the arena.
  uint64_t held() const;
};

/// Of every region, in order, also empty ones.
std::vector<MemoryRow> memoryOf(const runtime::Program &program);
std::vector<MemoryRow> memoryOf(mlir::ModuleOp program);

/// What the runtime allocates: the regions that are not transient and the
/// largest that is, each rounded up to 64 bytes.
uint64_t arenaBytes(llvm::ArrayRef<MemoryRow> rows);
/// What of it is in no category.
uint64_t fragmentationBytes(llvm::ArrayRef<MemoryRow> rows);

/// A table for people: category, bytes, share.
void printMemory(llvm::raw_ostream &os, llvm::ArrayRef<MemoryRow> rows);

/// {"parameters": {"bytes": 256}, ..., "fragmentation": {"bytes": 64},
///  "arena": 1024}
llvm::json::Value toJson(llvm::ArrayRef<MemoryRow> rows);

} // namespace stretto

#endif // STRETTO_PROGRAM_MEMORY_H
