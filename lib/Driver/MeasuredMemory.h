//===- MeasuredMemory.h - what a run found alive ----------------*- C++ -*-===//
//
// Private to the room: the bytes that a traced run under the adversary counted
// (`alive` of its commands), by call of the predicted curve.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_DRIVER_MEASUREDMEMORY_H
#define STRETTO_LIB_DRIVER_MEASUREDMEMORY_H

#include "stretto/Program/MemoryCurve.h"
#include "llvm/Support/Error.h"

namespace stretto::driver {

/// One number per moment: bytes of all categories while the call ran, at most.
/// `trace`: the text of a trace of one step with commands of `rank`. A call of
/// nothing but collectives may have gone with the one before it; it has that
/// one's number.
llvm::Expected<std::vector<uint64_t>>
measuredMemory(llvm::StringRef trace, int64_t rank,
               llvm::ArrayRef<MemoryMoment> curve);

} // namespace stretto::driver

#endif // STRETTO_LIB_DRIVER_MEASUREDMEMORY_H
