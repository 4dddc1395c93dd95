//===- Passes.td - memory planning -------------------------*- tablegen -*-===//
//
// The passes of the room Memory: fused segments and steps become a Program.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_MEMORY_PASSES_TD
#define STRETTO_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def UnbundlePass : Pass<"unbundle", "::mlir::ModuleOp"> {
  let summary = "steps with one value per tensor instead of one per instance";
  let description = [{
    What a step binds as "KIND:INSTANCE" with members becomes one argument or
    result "KIND:INSTANCE.NAME" per member, and so do carried values, zeros and
    the operands and results of invocations. `lower-to-program` begins with this.
  }];
}

def LowerToProgramPass : Pass<"lower-to-program", "::mlir::ModuleOp"> {
  let summary = "plan memory and write segments and steps in the words of the executable";
  let description = [{
    Every fused `stretto.segment` becomes a `program.segment`: tensors become
    buffers (arguments or scratch, packed by lifetime), values are updated in
    place where the segment says so and copied where it would hurt, and results
    are written straight into the caller's memory. Every `stretto.step` becomes a
    `program.function`: micro-batches are unrolled, activations are packed by
    lifetime over the calls, and parameters and moments get one place for all
    functions. Kernels stay as they are.
  }];
  let dependentDialects = ["::stretto::StrettoDialect", "::stretto::exec::ProgramDialect"];
}

#endif
