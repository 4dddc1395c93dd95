//===- Passes.td - cost ------------------------------------*- tablegen -*-===//
//
// The passes of the room Cost.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_COST_PASSES_TD
#define STRETTO_COST_PASSES_TD

include "mlir/Pass/PassBase.td"

def CountFlopsPass : Pass<"count-flops", "::mlir::ModuleOp"> {
  let summary = "note the model FLOPs of a training step on the module";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    On the derived module with global shapes: the model FLOPs (CostModel) of all
    forward segments that `@train` invokes, times micro-batches, times three (a
    backward costs twice its forward; recomputation does not count). Sets
    `stretto.model_flops` (full attention) and `stretto.model_flops_causal`
    (unmasked scores only) and, when it is not there yet, `stretto.vocabulary`:
    the rows of the smallest table that tokens or labels are looked up in.
  }];
}

#endif
