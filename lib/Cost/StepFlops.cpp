//===- StepFlops.cpp - the work of one training step ----------------------===//

#include "stretto/Cost/StepFlops.h"

using namespace mlir;
using namespace stretto;

double stretto::executionsOf(InvokeOp invoke) {
  double runs = 1;
  for (auto loop = invoke->getParentOfType<MicrobatchesOp>(); loop;
       loop = loop->getParentOfType<MicrobatchesOp>())
    runs *= double(loop.getCount());
  return runs;
}

StepFlops stretto::stepFlops(ModuleOp module) {
  StepFlops sum;
  SymbolTable symbols(module);
  auto train = symbols.lookup<StepOp>("train");
  if (!train)
    return sum;
  DenseMap<Operation *, double> bySegment;
  train.walk([&](InvokeOp invoke) {
    auto segment = symbols.lookup<SegmentOp>(invoke.getCallee());
    auto [flops, fresh] = bySegment.try_emplace(segment, 0);
    if (fresh)
      segment.walk([&, flops = &flops->second](CostModel op) {
        *flops += op.getFlops();
      });
    StringRef direction = segment.getDirection();
    double &part = direction == "forward"    ? sum.forward
                   : direction == "backward" ? sum.backward
                                             : sum.rest;
    part += executionsOf(invoke) * flops->second;
  });
  return sum;
}
