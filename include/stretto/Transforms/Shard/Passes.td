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
  let dependentDialects = ["::stretto::StrettoDialect"];
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
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    The cheapest sequence of slices, all-gathers, all-to-alls, permutations,
    reduce-scatters and all-reduces, by the links of the mesh (`stretto.links` of
    the module). A remark tells where a value needs much more memory on the way
    than on either side, or sends many bytes.
  }];
  let options = [
    Option<"memoryFactor", "memory-factor", "double", "2.0",
           "on the way a value is at most this many times as large on a rank as on the larger side, if there is such a way">,
    Option<"remarkBytes", "remark-bytes", "int64_t", "1 << 30",
           "a remark tells of every reshard that sends more bytes than this from a rank">];
}

def LocalizePass : Pass<"localize", "::mlir::ModuleOp"> {
  let summary = "global typed IR to the program of one rank";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    Types become local shapes without encodings; operations that depend on where
    their shard lies get offsets in closed form of the mesh coordinates. Step
    arguments and results keep `stretto.dist` and `stretto.global_shape`.
  }];
}

def CombineCollectivesPass : Pass<"combine-collectives", "::mlir::ModuleOp"> {
  let summary = "put small independent collectives of one kind and group next to each other";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    The runtime runs neighbours of one kind and group with the waits of one. A
    collective moves up to an earlier one if its operand is there already, else
    the earlier ones move down if nobody needs them before. Values keep their
    bits.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "1 << 18",
           "bytes of results that go together; larger collectives stay where they are">];
}

def VerifyLocalPass : Pass<"verify-local", "::mlir::ModuleOp"> {
  let summary = "check that no distribution is left and no reshard remains";
  let dependentDialects = ["::stretto::StrettoDialect"];
}

#endif
