//===- Passes.td - Programs --------------------------------*- tablegen -*-===//
//
// The passes of the room Program: checks and predictions on the lowered module.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_PASSES_TD
#define STRETTO_PROGRAM_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyProgramPass : Pass<"verify-program", "::mlir::ModuleOp"> {
  let summary = "run the static verifier on the Program that the module becomes";
  let description = [{
    Every byte is written before it is read, streams are ordered where they share
    bytes, every parameter is updated once from a gradient summed over the ranks
    that saw different samples. Closes the chapter that `lower-to-program` opens.
  }];
}

def PrintProgramTrafficPass : Pass<"print-program-traffic", "::mlir::ModuleOp"> {
  let summary = "print, as JSON, the bytes that every rank will send in a step";
  let description = "On standard output, in the form of an executable's --print-bytes.";
}

def PrintProgramMemoryPass : Pass<"print-program-memory", "::mlir::ModuleOp"> {
  let summary = "print the memory of a rank by category";
  let description = "On standard output: bytes, share, and fragmentation where there is any.";
}

#endif
