//===- Gemm.h - strided, batched matrix products ----------------*- C++ -*-===//
//
// Brings a GEMM with any strides into the form that oneDNN is fast at: merges
// batch dimensions into each other and into m, n or k, transposes a
// column-major C, and packs what has no unit stride.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_DEVICE_CPU_GEMM_H
#define STRETTO_RUNTIME_DEVICE_CPU_GEMM_H

#include "Dnn.h"

#include "stretto/Runtime/Device.h"

namespace stretto::runtime {

/// The same product with as few batch dimensions as possible.
GemmShape simplifyGemm(const GemmShape &shape);

Result<std::unique_ptr<Operation>> prepareGemmOperation(DnnContext &context,
                                                        const GemmShape &shape);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_DEVICE_CPU_GEMM_H
