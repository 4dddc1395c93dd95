//===- Passes.td - fusion -----------------------------------*- tablegen -*-===//
//
// Local segments to kernels and library calls.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_FUSE_PASSES_TD
#define STRETTO_TRANSFORMS_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def FusePass : Pass<"fuse", "::mlir::ModuleOp"> {
  let summary = "group local operations into kernels and library calls";
  let dependentDialects = ["::stretto::StrettoDialect"];
  let description = [{
    Every einsum becomes a strided `gemm` (in place of an accumulator where the
    sum allows), attention and collectives stay, and everything else is
    decomposed and grouped into kernels: as large as groups can be while all
    members share one row space, no value goes through memory between members and
    back, and no cycle arises between groups. Equal kernels are one symbol, so
    that depth adds none.
  }];
}

#endif
