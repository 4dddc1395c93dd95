//===- ProgramTables.h - what a Program says of itself ----------*- C++ -*-===//
//
// Private to the room: tables that several commands print.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_PROGRAMTABLES_H
#define STRETTO_LIB_DRIVER_PROGRAMTABLES_H

#include "stretto/Driver/Compilation.h"
#include "stretto/Program/Traffic.h"
#include "llvm/Support/JSON.h"

namespace stretto::driver {

/// The Program of a compilation that has reached it, as the runtime reads it.
/// Returns an exit code.
int loadProgram(Compilation &compilation,
                std::shared_ptr<const runtime::Program> &program,
                llvm::raw_ostream &err);

/// What one rank sends in a run of each function, in their order.
std::vector<TrafficRow> trafficOf(const runtime::Program &program,
                                  int64_t rank);
llvm::json::Array trafficJson(const std::vector<TrafficRow> &rows);
void printTraffic(const std::vector<TrafficRow> &rows, llvm::raw_ostream &out);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_PROGRAMTABLES_H
