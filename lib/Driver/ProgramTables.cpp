//===- ProgramTables.cpp - what a Program says of itself ------------------===//

#include "ProgramTables.h"
#include "llvm/ADT/STLExtras.h"

using namespace stretto;
using namespace stretto::driver;

std::vector<TrafficRow> driver::trafficOf(const runtime::Program &program,
                                          int64_t rank) {
  std::vector<TrafficRow> rows;
  for (const program::Function *function : *program.table().functions())
    llvm::append_range(rows, predictTraffic(program, *function, rank));
  return rows;
}

llvm::json::Array driver::trafficJson(const std::vector<TrafficRow> &rows) {
  llvm::json::Array list;
  for (const TrafficRow &row : rows)
    list.push_back(
        llvm::json::Object{{"rank", row.rank},
                           {"function", row.function},
                           {"kind", program::EnumNameCollectiveKind(row.kind)},
                           {"group", row.group},
                           {"calls", int64_t(row.calls)},
                           {"bytes", int64_t(row.bytes)}});
  return list;
}

void driver::printTraffic(const std::vector<TrafficRow> &rows,
                          llvm::raw_ostream &out) {
  for (const TrafficRow &row : rows)
    out << row.function << ": " << program::EnumNameCollectiveKind(row.kind)
        << " over " << row.group << ", " << row.calls << " calls, " << row.bytes
        << " B\n";
}
