//===- Passes.td - passes of the interpreter's room --------*- tablegen -*-===//

#ifndef STRETTO_INTERPRETER_PASSES_TD
#define STRETTO_INTERPRETER_PASSES_TD

include "mlir/Pass/PassBase.td"

def TestPlantBug : Pass<"test-plant-bug", "mlir::ModuleOp"> {
  let summary = "break a localized module on purpose";
  let description = [{
    Plants one of the mistakes of parallel training at the nth place where it
    fits, so that tests can show that `stretto check` finds it.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"drop-all-reduce\"",
           "drop-all-reduce, scale-gradient, wrong-axis or swap-shards">,
    Option<"nth", "nth", "int64_t", "0", "place, in order of the text, from 0">
  ];
}

#endif
