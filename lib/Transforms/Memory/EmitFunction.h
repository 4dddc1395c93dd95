//===- EmitFunction.h - from planned steps to functions ---------*- C++ -*-===//
//
// Writes program.function, program.parameter and program.region, and the small
// segments that fill and copy.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_EMITFUNCTION_H
#define STRETTO_TRANSFORMS_MEMORY_EMITFUNCTION_H

#include "StepPlan.h"

namespace stretto {

/// A step with its plan; `calls` is what the plan points into.
struct PlannedStep {
  StepOp step;
  std::unique_ptr<StepCalls> calls;
  StepPlan plan;
};

class FunctionEmitter {
public:
  explicit FunctionEmitter(mlir::OpBuilder &builder) : builder(builder) {}

  void emitFunction(const PlannedStep &step);
  /// One per "param:" argument of any step, in order of first appearance.
  void emitParameters(llvm::ArrayRef<PlannedStep> steps,
                      const PersistentMemory &persistent);
  void emitRegions(llvm::ArrayRef<PlannedStep> steps,
                   const PersistentMemory &persistent);

private:
  void emitCall(const PlannedStep &step, const PlannedCall &call);
  void emitBindings(const PlannedStep &step);
  /// "fill.BYTES" or "copy.BYTES", made when new.
  mlir::FlatSymbolRefAttr helperSegment(bool fill, uint64_t bytes);

  mlir::OpBuilder &builder;
  llvm::StringMap<exec::SegmentOp> helpers;
  mlir::Block *module = nullptr;
};

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_EMITFUNCTION_H
