//===- Tensors.h - what lies where, for the host ----------------*- C++ -*-===//
//
// Views of bindings and parameters of one rank.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_RUNTIME_EXECUTOR_TENSORS_H
#define STRETTO_RUNTIME_EXECUTOR_TENSORS_H

#include "stretto/Runtime/Executor.h"

namespace stretto::runtime {

using RegionStarts = std::array<char *, numRegions>;
using Bindings = flatbuffers::Vector<flatbuffers::Offset<program::Binding>>;

std::vector<TensorView> viewBindings(const Program &program, int64_t rank,
                                     const RegionStarts &regions,
                                     const Bindings *bindings);

/// An error that lists the names there are, when `name` is none of them.
Result<TensorView> findView(std::vector<TensorView> views,
                            const std::string &what, const std::string &name);

std::vector<ParameterView> viewParameters(const Program &program, int64_t rank,
                                          const RegionStarts &regions);

} // namespace stretto::runtime

#endif // STRETTO_RUNTIME_EXECUTOR_TENSORS_H
