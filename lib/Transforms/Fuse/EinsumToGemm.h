//===- EinsumToGemm.h - contractions as library calls -----------*- C++ -*-===//
//
// Rewrites every einsum of a segment as a strided gemm, with an accumulator
// where a sum can be taken in place; what has nothing to contract or no matrix
// dimension becomes primitive operations.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_TRANSFORMS_FUSE_EINSUMTOGEMM_H
#define STRETTO_LIB_TRANSFORMS_FUSE_EINSUMTOGEMM_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

mlir::LogicalResult lowerEinsums(SegmentOp segment);

} // namespace stretto

#endif // STRETTO_LIB_TRANSFORMS_FUSE_EINSUMTOGEMM_H
