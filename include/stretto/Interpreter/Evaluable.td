//===- Evaluable.td - what operations mean -----------------*- tablegen -*-===//
//
// Reference evaluation of operations on values in f64. Implementations are
// external models in lib/Interpreter and follow the definition of the operation;
// they share nothing with its decomposition, adjoint or kernel.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_INTERPRETER_EVALUABLE_TD
#define STRETTO_INTERPRETER_EVALUABLE_TD

include "mlir/IR/OpBase.td"

def Stretto_Evaluable : OpInterface<"Evaluable"> {
  let cppNamespace = "::stretto::interp";
  let description = "Operations that one rank evaluates alone.";
  let methods = [
    InterfaceMethod<[{
        The results for these operands on the rank that `context` describes.
        Diagnoses at the operation what it cannot evaluate.
      }], "::mlir::FailureOr<::llvm::SmallVector<::stretto::interp::Tensor>>",
      "evaluate", (ins "::llvm::ArrayRef<::stretto::interp::Tensor>":$operands,
                       "const ::stretto::interp::EvalContext &":$context)>
  ];
}

def Stretto_EvaluableCollective : OpInterface<"EvaluableCollective"> {
  let cppNamespace = "::stretto::interp";
  let description = "Operations whose result on a rank depends on its group.";
  let methods = [
    InterfaceMethod<"The ranks that take part together.",
                    "::stretto::GroupAttr", "getEvaluationGroup">,
    InterfaceMethod<"The members' results for the members' operands, in member order.",
                    "::llvm::SmallVector<::stretto::interp::Tensor>", "evaluateGroup",
                    (ins "::llvm::ArrayRef<::stretto::interp::Tensor>":$members)>
  ];
}

#endif
