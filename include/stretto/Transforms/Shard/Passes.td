//===- Passes.td - the sharding chapter ---------------------*- tablegen -*-===//
//
// propagate -> assign -> plan-reshards -> localize. Each pass says why it is.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_SHARD_PASSES_TD
#define STRETTO_TRANSFORMS_SHARD_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"propagate", "::mlir::ModuleOp"> {
  let summary = "decide which mesh axes every factor of every operation holds";
  let description = [{
    Constraints on arguments and results reach every dimension of their class;
    where two factors of one operation want the same axis, the lower priority
    number wins, then the parallel factor over the contracted one, then the
    order of factors. The decision is the attribute `stretto.factors` (one entry per
    factor). Segments are visited in the order of the steps' invocations, and
    what a forward result wants is passed on to the backward argument it feeds.
  }];
}

def AssignPass : Pass<"assign", "::mlir::ModuleOp"> {
  let summary = "give every value a distribution; make every change explicit";
  let description = [{
    Walks the steps in order. Operands that do not lie as the operation's factors
    ask are resharded (once per value and target); partial sums pass through
    linear operations and are reduced where they cannot; operations whose blocked
    dimension is sharded are decomposed; padding that is not neutral is masked.
    Afterwards every tensor type carries `#stretto.dist`.
  }];
}

def PlanReshardsPass : Pass<"plan-reshards", "::mlir::ModuleOp"> {
  let summary = "turn every reshard into slices and collectives";
  let description = [{
    A partial axis that the target appends to a dimension becomes a
    reduce-scatter, any other an all-reduce; axes that move from one dimension's
    end to another's an all-to-all; the rest gathers and slices.
  }];
}

def LocalizePass : Pass<"localize", "::mlir::ModuleOp"> {
  let summary = "global typed IR to the program of one rank";
  let description = [{
    Types become local shapes without encodings; operations that depend on where
    their shard lies get offsets in closed form of the mesh coordinates. Step
    arguments and results keep `stretto.dist` and `stretto.global_shape`.
  }];
}

def VerifyLocalPass : Pass<"verify-local", "::mlir::ModuleOp"> {
  let summary = "check that no distribution is left and no reshard remains";
}

#endif
