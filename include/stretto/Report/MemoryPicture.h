//===- MemoryPicture.h - the memory curve as a picture ----------*- C++ -*-===//
//
// Draws what Program/MemoryCurve.h says as an SVG that needs nothing else:
// time is the order of calls, categories are stacked, the peak is marked.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_REPORT_MEMORYPICTURE_H
#define STRETTO_REPORT_MEMORYPICTURE_H

#include "stretto/Program/MemoryCurve.h"
#include "llvm/Support/raw_ostream.h"

namespace stretto {

/// `title` stands above the picture. `arena`: bytes that are reserved, drawn as
/// a line. `measured`: bytes that a run found, one number per moment, drawn as
/// a line too; may be empty.
void drawMemory(llvm::raw_ostream &os, llvm::ArrayRef<MemoryMoment> curve,
                uint64_t arena, llvm::StringRef title,
                llvm::ArrayRef<uint64_t> measured = {});

} // namespace stretto

#endif // STRETTO_REPORT_MEMORYPICTURE_H
