//===- StepFlow.h - what a step computes, as expressions --------*- C++ -*-===//
//
// The expressions of DataFlow.h, from tensors: segments as functions of values,
// steps as calls of them. Knows nothing of memory.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_STEPFLOW_H
#define STRETTO_TRANSFORMS_MEMORY_STEPFLOW_H

#include "EmitSegment.h"
#include "StepCalls.h"
#include "stretto/Dialect/Program/IR/DataFlow.h"

namespace stretto {

using SegmentFlows = llvm::DenseMap<SegmentOp, SegmentFlow>;

/// By binding of the step's results.
exec::DataFlow flowOf(StepOp step, const StepCalls &calls,
                      const SegmentFlows &segments);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_STEPFLOW_H
