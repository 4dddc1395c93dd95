//===- MemoryCurve.h - what is alive when -----------------------*- C++ -*-===//
//
// Bytes of a rank that hold a value somebody still reads, call by call of a
// function, by category. The arena is planned so that the most of it fits;
// what it takes more is fragmentation.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_MEMORYCURVE_H
#define STRETTO_PROGRAM_MEMORYCURVE_H

#include "stretto/Runtime/Program.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <string>
#include <vector>

namespace stretto {

/// While one call runs.
struct MemoryMoment {
  std::string segment, instance; // "decoder.bwd", "layers.3"
  int64_t microbatch = 0;
  std::array<uint64_t, runtime::numRegions> bytes{}; // by region

  uint64_t total() const;
};

/// One moment per call. Parameters, moments and state are there throughout;
/// bytes of gradients, activations, inputs and outputs from the call that
/// writes them to the last one that reads that (the host writes inputs before
/// the first call and reads outputs after the last, and the gradients of
/// training); scratch is that of the
/// running call. Calls of all streams are taken in the order of the Program.
std::vector<MemoryMoment> memoryCurve(const runtime::Program &program,
                                      const program::Function &function);

/// The moment with the most bytes; the curve is not empty.
const MemoryMoment &peakOf(llvm::ArrayRef<MemoryMoment> curve);

/// [{"segment": "decoder.fwd", "instance": "layers.0", "microbatch": 0,
///   "bytes": {"parameters": 256, …}}, …]
llvm::json::Value toJson(llvm::ArrayRef<MemoryMoment> curve);

} // namespace stretto

#endif // STRETTO_PROGRAM_MEMORYCURVE_H
