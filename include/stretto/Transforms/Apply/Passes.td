//===- Passes.td - recipe and plan into the IR -------------*- tablegen -*-===//
//
// The passes of the room Apply: what the user wrote becomes attributes and
// static shapes, and the model contract is checked.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_APPLY_PASSES_TD
#define STRETTO_TRANSFORMS_APPLY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyModelPass : Pass<"verify-model", "::mlir::ModuleOp"> {
  let summary = "check the model contract";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    Inputs count samples in their first dimension; parameters are declared once,
    initialised, and tied to what exists; every loss term is a sum and a count of
    rank 0, the count from inputs alone; samples meet only in loss sums (checked
    once recipe or plan split the batch); positions fit the tables they index
    (checked once the sequence is bound).
  }];
}

def ApplyRecipePass : Pass<"apply-recipe", "::mlir::ModuleOp"> {
  let summary = "set the recipe and bind batch and sequence to numbers";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    Puts the recipe on the module (`stretto.recipe`) and replaces every `?` of
    the layers and the model: `batch` becomes global batch / micro-batches,
    `seq` the sequence length. Types are inferred anew in order.

    Without `file` the module's own `stretto.recipe` is taken; entries that it
    lacks have the recipe's defaults.
  }];
  let options = [
    Option<"file", "file", "std::string", "",
           "recipe in YAML; empty: the module's stretto.recipe">,
    Option<"microbatches", "microbatches", "int64_t", "0",
           "micro-batches per step; 0: the module's stretto.recipe, else 1">,
  ];
}

def ApplyPlanPass : Pass<"apply-plan", "::mlir::ModuleOp"> {
  let summary = "set the mesh and turn shard rules into constraints";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    Sets `stretto.mesh` and gives every layer's arguments and results the
    constraints that the plan's rules put on their dimensions; layers whose
    instances differ are specialised. Without `file`: one device.
  }];
  let options = [Option<"file", "file", "std::string", "", "plan in YAML">];
}

#endif
