//===- LowerToProgram.cpp - fused segments and steps to a Program ---------===//

#include "EmitFunction.h"
#include "StepFlow.h"
#include "StepSchedule.h"

#include "stretto/Dialect/Stretto/Transforms/Unbundle.h"
#include "stretto/Transforms/Memory/Passes.h"

using namespace mlir;
using namespace stretto;

namespace stretto {
#define GEN_PASS_DEF_LOWERTOPROGRAMPASS
#include "stretto/Transforms/Memory/Passes.h.inc"
} // namespace stretto

namespace {

struct LowerToProgram
    : public stretto::impl::LowerToProgramPassBase<LowerToProgram> {
  void runOnOperation() override {
    if (failed(lower(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult lower(ModuleOp module) {
    unbundleSteps(module); // every tensor gets a place of its own
    SegmentPlans segments;
    if (failed(planSegments(module, segments)))
      return failure();
    PersistentMemory persistent;
    std::vector<PlannedStep> steps;
    if (failed(planSteps(module, segments, persistent, steps)))
      return failure();

    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    SegmentFlows flows;
    for (SegmentOp segment : module.getOps<SegmentOp>())
      if (failed(emitSegment(builder, segment, segments.find(segment)->second,
                             flows[segment])))
        return failure();
    FunctionEmitter emitter(builder);
    emitter.emitRegions(steps, persistent);
    emitter.emitParameters(steps, persistent);
    for (const PlannedStep &step : steps)
      emitter.emitFunction(step);
    std::vector<exec::DataFlow> wanted;
    for (const PlannedStep &step : steps)
      wanted.push_back(flowOf(step.step, *step.calls, flows));
    eraseSources(module);
    return checkDataFlow(module, wanted);
  }

  /// The functions compute what the steps said: no value was overwritten while
  /// it was needed, taken for another, or copied too late.
  LogicalResult checkDataFlow(ModuleOp module,
                              ArrayRef<exec::DataFlow> wanted) {
    Builder builder(module.getContext());
    for (auto [flow, function] :
         llvm::zip(wanted, module.getOps<exec::FunctionOp>())) {
      exec::DataFlow emitted = exec::dataFlowOf(function);
      for (const auto &[name, meaning] : flow)
        if (auto it = emitted.find(name);
            it == emitted.end() || it->second != meaning)
          return function.emitOpError("computes another value for '")
                 << name << "' than the step that it was made from: a bug in "
                 << "placement, aliasing or order";
      function->setAttr(exec::dataFlowAttr, builder.getI64IntegerAttr(int64_t(
                                                exec::digestOf(emitted))));
    }
    return success();
  }

  LogicalResult planSegments(ModuleOp module, SegmentPlans &segments) {
    for (SegmentOp segment : module.getOps<SegmentOp>()) {
      FailureOr<SegmentPlan> plan = SegmentPlan::make(segment);
      if (failed(plan))
        return failure();
      segments.try_emplace(segment, std::move(*plan));
    }
    return success();
  }

  LogicalResult planSteps(ModuleOp module, const SegmentPlans &segments,
                          PersistentMemory &persistent,
                          std::vector<PlannedStep> &steps) {
    SymbolTable symbols(module);
    for (StepOp step : module.getOps<StepOp>()) {
      FailureOr<StepCalls> calls = StepCalls::of(step, symbols);
      if (failed(calls))
        return failure();
      auto kept = std::make_unique<StepCalls>(std::move(*calls));
      scheduleStep(*kept, segments, overlapOf(module));
      FailureOr<StepPlan> plan =
          StepPlan::make(step, *kept, segments, persistent);
      if (failed(plan))
        return failure();
      steps.push_back({step, std::move(kept), std::move(*plan)});
    }
    return success();
  }

  void eraseSources(ModuleOp module) {
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<SegmentOp, StepOp>(op))
        op.erase();
  }
};

} // namespace
