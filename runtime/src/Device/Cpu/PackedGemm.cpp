//===- PackedGemm.cpp - large matrix products -----------------------------===//
//
// Compiled once for each instruction set level.
//
//===----------------------------------------------------------------------===//

#include "PackedLoops.h"

namespace stretto::runtime::STRETTO_ISA_NAMESPACE {

void packedGemm(const PackedGemm<float> &product) {
  multiplyBlocks<float>(product);
}
void packedGemm(const PackedGemm<Bf16> &product) {
  multiplyBlocks<float>(product);
}

} // namespace stretto::runtime::STRETTO_ISA_NAMESPACE
