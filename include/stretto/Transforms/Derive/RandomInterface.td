//===- RandomInterface.td - operations that draw bits ------*- tablegen -*-===//
//
// What `derive` asks of an operation that draws random numbers: to take its
// key, and to be what it is in evaluation.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_DERIVE_RANDOMINTERFACE_TD
#define STRETTO_TRANSFORMS_DERIVE_RANDOMINTERFACE_TD

include "mlir/IR/OpBase.td"

def Stretto_RandomDraw : OpInterface<"RandomDraw"> {
  let cppNamespace = "::stretto";
  let description = "An operation that may draw random numbers.";
  let methods = [
    InterfaceMethod<"Does it draw with its present attributes?", "bool", "draws">,
    InterfaceMethod<[{
        Sets the identity of the draw within the layer and what it needs to index
        the global tensor. `sampleDim` is the dimension of operand 0 that counts
        samples, if any. Operand types are global and static.
      }], "void", "setKey",
      (ins "int64_t":$id, "std::optional<int64_t>":$sampleDim)>,
    InterfaceMethod<[{
        Makes the operation deterministic (as in evaluation): in place, or by
        replacing its uses and erasing it.
      }], "void", "makeDeterministic">
  ];
}

#endif
