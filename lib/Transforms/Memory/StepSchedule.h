//===- StepSchedule.h - order and streams of a step's calls -----*- C++ -*-===//
//
// Tells the scheduler (Transforms/Overlap) what the calls of a step need and
// do, and puts them into the order that it finds.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_STEPSCHEDULE_H
#define STRETTO_TRANSFORMS_MEMORY_STEPSCHEDULE_H

#include "StepPlan.h"
#include "stretto/Transforms/Overlap/Schedule.h"

namespace stretto {

/// What the module's plan says (`stretto.overlap`); nothing: no overlap.
std::optional<OverlapOptions> overlapOf(mlir::ModuleOp module);

void scheduleStep(StepCalls &calls, const SegmentPlans &segments,
                  std::optional<OverlapOptions> options);

} // namespace stretto

#endif // STRETTO_TRANSFORMS_MEMORY_STEPSCHEDULE_H
