//===- Memory.cpp - the memory that a Program takes -----------------------===//

#include "stretto/Program/Memory.h"

#include "stretto/Support/Text.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace stretto;

/// The words and the file agree on what is transient.
static constexpr bool agreeOnTransient() {
  for (size_t i = 0; i < runtime::numRegions; ++i)
    if (exec::isTransient(exec::Region(i)) !=
        runtime::isTransient(program::Region(i)))
      return false;
  return true;
}
static_assert(agreeOnTransient());

static std::vector<MemoryRow> emptyRows() {
  std::vector<MemoryRow> rows(runtime::numRegions);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].region = program::Region(i);
  return rows;
}

std::vector<MemoryRow> stretto::memoryOf(const runtime::Program &program) {
  std::vector<MemoryRow> rows = emptyRows();
  for (MemoryRow &row : rows) {
    row.bytes = program.regionBytes(row.region);
    row.live = program.liveBytes(row.region);
  }
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

uint64_t MemoryRow::held() const {
  return runtime::isTransient(region) ? live.value_or(bytes) : bytes;
}

uint64_t stretto::arenaBytes(ArrayRef<MemoryRow> rows) {
  uint64_t sum = 0, shared = 0;
  for (const MemoryRow &row : rows)
    if (runtime::isTransient(row.region))
      shared = std::max(shared, exec::alignUp(row.bytes));
    else
      sum += exec::alignUp(row.bytes);
  return sum + shared;
}

uint64_t stretto::fragmentationBytes(ArrayRef<MemoryRow> rows) {
  uint64_t held = 0, arena = arenaBytes(rows);
  for (const MemoryRow &row : rows)
    held += row.held();
  return arena - std::min(held, arena);
}

static StringRef nameOf(program::Region region) {
  return exec::stringifyRegion(exec::Region(region));
}

void stretto::printMemory(raw_ostream &os, ArrayRef<MemoryRow> rows) {
  uint64_t arena = arenaBytes(rows);
  auto line = [&](StringRef name, uint64_t bytes) {
    if (bytes)
      os << left_justify(name, 14) << right_justify(readableBytes(bytes), 12)
         << format("%7.1f %%", 100.0 * double(bytes) / double(arena)) << "\n";
  };
  for (const MemoryRow &row : rows)
    line(nameOf(row.region), row.held());
  line("fragmentation", fragmentationBytes(rows));
  os << left_justify("arena", 14) << right_justify(readableBytes(arena), 12)
     << "\n";
}

json::Value stretto::toJson(ArrayRef<MemoryRow> rows) {
  json::Object object;
  for (const MemoryRow &row : rows)
    object[nameOf(row.region)] = json::Object{{"bytes", int64_t(row.held())}};
  object["fragmentation"] =
      json::Object{{"bytes", int64_t(fragmentationBytes(rows))}};
  object["arena"] = int64_t(arenaBytes(rows));
  return object;
}
