//===- TileGemm.cpp - small matrix products -------------------------------===//
//
// Compiled once for each instruction set level.
//
//===----------------------------------------------------------------------===//

#include "TileLoops.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

void tileGemm(const TileGemm &product) { panels<maxVectors>(product, 0); }

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE
