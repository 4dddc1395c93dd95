//===- EmitSegment.h - from tensor operations to commands -------*- C++ -*-===//
//
// Writes the program.segment of a planned segment: one command per operation,
// plus the copies of the plan.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_EMITSEGMENT_H
#define STRETTO_TRANSFORMS_MEMORY_EMITSEGMENT_H

#include "SegmentPlan.h"

namespace stretto {

/// Inserts at the builder. Diagnoses operations that have no command.
/// A command as an expression of values: keys are values, or operations for
/// what they hold in between.
struct FlowStep {
  uint64_t command; // exec::describeCommand
  llvm::SmallVector<const void *> inputs, outputs;
};

/// What the segment's operations compute, whatever its commands do with memory.
struct SegmentFlow {
  std::vector<FlowStep> steps;
};

/// Appends the commands' expressions to `flow`.
mlir::FailureOr<exec::SegmentOp> emitSegment(mlir::OpBuilder &builder,
                                             SegmentOp segment,
                                             const SegmentPlan &plan,
                                             SegmentFlow &flow);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_EMITSEGMENT_H
