//===- StepFlops.h - the work of one training step --------------*- C++ -*-===//
//
// Floating-point operations that a derived training step executes, all ranks
// together, by direction. Unlike model FLOPs this counts what is repeated.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_COST_STEPFLOPS_H
#define STRETTO_COST_STEPFLOPS_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto {

struct StepFlops {
  double forward = 0, backward = 0, rest = 0; // rest: reductions, updates

  double total() const { return forward + backward + rest; }
};

/// How often one step executes `invoke`: once per micro-batch inside a loop.
double executionsOf(InvokeOp invoke);

/// Of `@train` after Derive (global shapes); zeros when there is none.
StepFlops stepFlops(mlir::ModuleOp module);

} // namespace stretto

#endif // STRETTO_COST_STEPFLOPS_H
