//===- Memory.cpp - the memory that a Program takes -----------------------===//

#include "stretto/Program/Memory.h"

#include "stretto/Support/Text.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace stretto;

static std::vector<MemoryRow> emptyRows() {
  std::vector<MemoryRow> rows(runtime::numRegions);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].region = program::Region(i);
  return rows;
}

std::vector<MemoryRow> stretto::memoryOf(const runtime::Program &program) {
  std::vector<MemoryRow> rows = emptyRows();
  for (MemoryRow &row : rows)
    row.bytes = program.regionBytes(row.region);
  return rows;
}

std::vector<MemoryRow> stretto::memoryOf(mlir::ModuleOp program) {
  std::vector<MemoryRow> rows = emptyRows();
  for (auto region : program.getOps<exec::RegionOp>()) {
    MemoryRow &row = rows[size_t(region.getRegion())];
    row.bytes = region.getBytes();
    if (auto live = region.getLive())
      row.live = *live;
  }
  return rows;
}

uint64_t stretto::arenaBytes(ArrayRef<MemoryRow> rows) {
  uint64_t sum = 0;
  for (const MemoryRow &row : rows)
    sum += exec::alignUp(row.bytes);
  return sum;
}

static StringRef nameOf(program::Region region) {
  return exec::stringifyRegion(exec::Region(region));
}

void stretto::printMemory(raw_ostream &os, ArrayRef<MemoryRow> rows) {
  uint64_t arena = arenaBytes(rows);
  for (const MemoryRow &row : rows) {
    if (!row.bytes)
      continue;
    os << left_justify(nameOf(row.region), 12)
       << right_justify(readableBytes(row.bytes), 12)
       << format("%7.1f %%", 100.0 * double(row.bytes) / double(arena));
    if (row.live && *row.live < row.bytes)
      os << format("  %.1f %% fragmentation",
                   100.0 * double(row.bytes - *row.live) / double(row.bytes));
    os << "\n";
  }
  os << left_justify("arena", 12) << right_justify(readableBytes(arena), 12)
     << "\n";
}

json::Value stretto::toJson(ArrayRef<MemoryRow> rows) {
  json::Object object;
  for (const MemoryRow &row : rows) {
    json::Object entry{{"bytes", int64_t(row.bytes)}};
    if (row.live)
      entry["live"] = int64_t(*row.live);
    object[nameOf(row.region)] = std::move(entry);
  }
  object["arena"] = int64_t(arenaBytes(rows));
  return object;
}
