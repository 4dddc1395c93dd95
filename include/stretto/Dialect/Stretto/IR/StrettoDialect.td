//===- StrettoDialect.td - the stretto dialect -------------*- tablegen -*-===//
//
// The words of the model: layers and their instances, tensor operations with
// sharding rules, distributions and collectives.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_DIALECT_TD
#define STRETTO_DIALECT_STRETTO_IR_DIALECT_TD

include "mlir/IR/OpBase.td"

def Stretto_Dialect : Dialect {
  let name = "stretto";
  let cppNamespace = "::stretto";
  let summary = "models, distributions and collectives";
  let description = [{
    A model is a graph of layer instances; a layer is a function written once.
    Between the passes `assign` and `localize` every tensor type carries a
    `#stretto.dist` encoding that says how the value lies on the mesh.
  }];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

#endif
