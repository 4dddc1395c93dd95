//===- Isa.h - instruction set levels of the host ---------------*- C++ -*-===//
//
// Hot loops of the runtime are compiled for several x86-64 levels (see
// stretto_isa_sources in runtime/CMakeLists.txt); this says which one the host
// can run. STRETTO_ISA=v1|v3|v4 lowers the choice to just that level, for
// tests.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_ISA_H
#define STRETTO_RUNTIME_ISA_H

#include "stretto/Runtime/Status.h"

#include <string>

namespace stretto::runtime {

enum class Isa { V1, V3, V4 };

/// The highest level that the host has.
Isa hostIsa();

/// Has it AVX512-BF16 on top of V4, which STRETTO_ISA does not rule out?
bool hostHasBf16();

/// An error that names what the host lacks of a list such as "avx2,fma"
/// (Program.cpu_features). Unknown names are an error too.
Status checkCpuFeatures(const std::string &required);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_ISA_H
