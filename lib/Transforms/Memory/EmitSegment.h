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
mlir::FailureOr<exec::SegmentOp> emitSegment(mlir::OpBuilder &builder,
                                             SegmentOp segment,
                                             const SegmentPlan &plan);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_EMITSEGMENT_H
