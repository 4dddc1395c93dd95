//===- Passes.td - from a model to a training step ---------*- tablegen -*-===//
//
// The passes of the room Derive.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_DERIVE_PASSES_TD
#define STRETTO_TRANSFORMS_DERIVE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DerivePass : Pass<"derive", "::mlir::ModuleOp"> {
  let summary = "differentiate layers and build the train, eval and predict steps";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    Every layer becomes segments (forward, backward, reduce, update, eval), one
    set per way in which instances use it; the model becomes the steps @train,
    @eval and @predict, lists of invocations. Layers and model are erased.
  }];
}

def VerifyDerivedPass : Pass<"verify-derived", "::mlir::ModuleOp"> {
  let summary = "check what holds after derive";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    - no layer and no model is left;
    - @train returns every parameter, its moments and exactly one gradient each,
      with the type of the parameter;
    - `stretto.alias` names an argument of the result's type, each at most once.
  }];
}

#endif
