//===- ProgramTables.cpp - what a Program says of itself ------------------===//

#include "ProgramTables.h"
#include "stretto/Program/Serialize.h"
#include "llvm/ADT/STLExtras.h"

using namespace stretto;
using namespace stretto::driver;

int driver::loadProgram(Compilation &compilation,
                        std::shared_ptr<const runtime::Program> &program,
                        llvm::raw_ostream &err) {
  mlir::FailureOr<std::string> bytes = serializeProgram(compilation.module());
  if (mlir::failed(bytes))
    return exitInternal;
  auto loaded = runtime::Program::load({bytes->data(), bytes->size()});
  if (!loaded) {
    err << "error: " << loaded.status().message() << "\n";
    return exitInternal;
  }
  program = *loaded;
  return exitOk;
}

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
