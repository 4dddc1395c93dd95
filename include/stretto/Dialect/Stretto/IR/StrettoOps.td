//===- StrettoOps.td - operations of the stretto dialect ---*- tablegen -*-===//
//
// Base classes; the operations are grouped by concern in the included files.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_OPS_TD
#define STRETTO_DIALECT_STRETTO_IR_OPS_TD

include "stretto/Dialect/Stretto/IR/StrettoAttrs.td"
include "stretto/Dialect/Stretto/IR/StrettoInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

// Checks operand and result encodings of an op against its sharding rule.
def Stretto_Distributed : NativeOpTrait<"Distributed"> {
  let cppNamespace = "::stretto";
}

// Operands have one float type; results that are sums may have a wider one, so
// that sums of 16-bit values can be kept in f32.
def Stretto_WideSums : NativeOpTrait<"WideSums"> {
  let cppNamespace = "::stretto";
}

class Stretto_Op<string mnemonic, list<Trait> traits = []>
    : Op<Stretto_Dialect, mnemonic, traits> {
  // For operations whose attributes depend on the shard.
  code localizeDeclaration = [{
    void localizeAttributes(::llvm::ArrayRef<DistAttr> operands,
                            ::llvm::ArrayRef<DistAttr> results,
                            ::mlir::Operation *original);
  }];
}

// A pure tensor operation with a sharding rule whose result types are inferred
// (shape and element type; encodings are checked by the rule).
class Stretto_TensorOp<string mnemonic, list<Trait> traits = []>
    : Stretto_Op<mnemonic, traits # [
        Pure, Stretto_Distributed,
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<Stretto_ShardingRule>]> {
  code inferDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::stretto::sameShapesAndElements(l, r);
    }
  }];
  // Where results that are sums may have a wider element type.
  code inferWideDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::stretto::sameShapesAndWiderElements(l, r);
    }
  }];
  let extraClassDeclaration = inferDeclaration;
}

// The same for operations that state their result type.
class Stretto_TypedTensorOp<string mnemonic, list<Trait> traits = []>
    : Stretto_Op<mnemonic, traits # [
        Pure, Stretto_Distributed,
        DeclareOpInterfaceMethods<Stretto_ShardingRule>]> {
  let hasVerifier = 1;
}

include "stretto/Dialect/Stretto/IR/Elementwise.td"
include "stretto/Dialect/Stretto/IR/Structured.td"
include "stretto/Dialect/Stretto/IR/Movement.td"
include "stretto/Dialect/Stretto/IR/Indexed.td"
include "stretto/Dialect/Stretto/IR/Fused.td"
include "stretto/Dialect/Stretto/IR/Collectives.td"
include "stretto/Dialect/Stretto/IR/Constraints.td"
include "stretto/Dialect/Stretto/IR/Model.td"
include "stretto/Dialect/Stretto/IR/Step.td"
include "stretto/Dialect/Stretto/IR/Kernel.td"

#endif
