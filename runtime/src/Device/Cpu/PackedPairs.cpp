//===- PackedPairs.cpp - large matrix products of bf16 --------------------===//
//
// Compiled for processors with AVX512-BF16 only.
//
//===----------------------------------------------------------------------===//

#include "Bf16Dot.h"
#include "PackedLoops.h"

namespace stretto::runtime {

void packedPairs(const PackedGemm<Bf16> &product) {
  STRETTO_ISA_NAMESPACE::multiplyBlocks<Bf16Pair>(product);
}

} // namespace stretto::runtime
