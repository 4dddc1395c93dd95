//===- Fingerprint.h - to tell data sets apart ------------------*- C++ -*-===//
//
// A hash of data that may be far larger than what a start should read.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_SRC_DATA_FINGERPRINT_H
#define STRETTO_RUNTIME_SRC_DATA_FINGERPRINT_H

#include "stretto/Runtime/Bytes.h"

#include <vector>

namespace stretto::runtime {

/// Of the parts as one sequence, wherever it is cut into parts: of its size and
/// of all of it up to 16 MiB, else of 256 blocks of 64 KiB at even distances,
/// the first and the last bytes included.
uint64_t fingerprint(const std::vector<Bytes> &parts);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_SRC_DATA_FINGERPRINT_H
