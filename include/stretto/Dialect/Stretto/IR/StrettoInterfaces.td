//===- StrettoInterfaces.td - one interface per question ---*- tablegen -*-===//
//
// What passes ask of an operation. A pass never switches on operation names.
// ShardingRule is implemented in the dialect; the others are attached as
// external models by the room that owns the question.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_INTERFACES_TD
#define STRETTO_DIALECT_STRETTO_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Stretto_ShardingRule : OpInterface<"ShardingRule"> {
  let cppNamespace = "::stretto";
  let description = "Which dimensions of operands and results move together.";
  let methods = [
    InterfaceMethod<[{
        The factors of this operation for its present global (or local) shapes.
        See OpRule.h for the algebra.
      }], "OpRule", "getShardingRule">,
    InterfaceMethod<[{
        Makes attributes right for the local operation: called on the clone that
        works on shards, with the distributions that the original operands and
        results had, and the original. Operations whose attributes do not depend on the shard
        need not implement it.
      }], "void", "localizeAttributes",
      (ins "::llvm::ArrayRef<DistAttr>":$operands,
           "::llvm::ArrayRef<DistAttr>":$results,
           "::mlir::Operation *":$original), "",
      [{ (void)operands; (void)results; (void)original; }]>
  ];
}

def Stretto_Decomposable : OpInterface<"Decomposable"> {
  let cppNamespace = "::stretto";
  let description = [{
    Operations that equal a composition of primitive ones (elementwise, reduce,
    broadcast, iota, compare, select). Used when an inner dimension is sharded,
    so that inner collectives appear by type, and before kernels are made. (The
    reference evaluation interface lives in the room Interpreter, the lowering
    interface in Conversion.)
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the composition at the builder's insertion point and returns one
        value per result; the caller replaces the operation. Nothing is built and
        nothing returned when the operation is primitive as it is.
      }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<[{
        The same where the operands lie as `operands` says, for operations whose
        sharded algorithm depends on the number of shards.
      }], "::llvm::SmallVector<::mlir::Value>", "decomposeSharded",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<DistAttr>":$operands), "",
      [{ (void)operands;
         return ::llvm::cast<Decomposable>($_op.getOperation()).decompose(builder); }]>
  ];
}

def Stretto_Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::stretto";
  let description = "The adjoint (vector-Jacobian product) of an operation.";
  let methods = [
    InterfaceMethod<[{
        Given the cotangent of every result (null = zero), builds the cotangent
        contributions of every operand (null = zero or not differentiable) at
        the builder's insertion point. May use the operation's operands and
        results: those become saved values.
      }], "::llvm::SmallVector<::mlir::Value>", "vjp",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$cotangents)>
  ];
}

def Stretto_CostModel : OpInterface<"CostModel"> {
  let cppNamespace = "::stretto";
  let description = "Work of an operation on its present shapes.";
  let methods = [
    InterfaceMethod<"Floating-point operations (a multiply-add is two).",
                    "double", "getFlops">,
    InterfaceMethod<"FLOPs that count toward model FLOPs utilisation (matrix "
                    "products and attention); `causal` counts only unmasked "
                    "score elements.",
                    "double", "getModelFlops", (ins "bool":$causal)>
  ];
}

#endif
