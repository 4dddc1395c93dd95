//===- Work.h - what library calls do, and their names ----------*- C++ -*-===//
//
// Useful floating-point operations (a multiply-add is two) and the names that
// profiles, traces and predictions give to products and attention.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_WORK_H
#define STRETTO_RUNTIME_WORK_H

#include "stretto/Runtime/Device.h"

#include <string>

namespace stretto::runtime {

double flopsOf(const GemmShape &shape);
/// Of shards of the positions: what a rank does on average.
double flopsOf(const AttentionTask &task);

/// "64x768x768 batch 12 +=".
std::string nameOf(const GemmShape &shape);
/// "forward b2 h8/8 q64 k64 d32 causal".
std::string nameOf(const AttentionTask &task);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_WORK_H
