//===- TilePairs.cpp - small matrix products of bf16 ----------------------===//
//
// Compiled for processors with AVX512-BF16 only: one instruction multiplies and
// adds two terms.
//
//===----------------------------------------------------------------------===//

#include "Bf16Dot.h"
#include "TileLoops.h"

namespace stretto::runtime {

void tilePairs(const TilePairs &product) {
  STRETTO_ISA_NAMESPACE::panels<STRETTO_ISA_NAMESPACE::maxVectors>(product, 0);
}

} // namespace stretto::runtime
