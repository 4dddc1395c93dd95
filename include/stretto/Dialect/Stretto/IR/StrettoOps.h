//===- StrettoOps.h - operations of the stretto dialect ---------*- C++ -*-===//
//
// Operation and interface classes, and the trait that checks encodings.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_IR_STRETTOOPS_H
#define STRETTO_DIALECT_STRETTO_IR_STRETTOOPS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "stretto/Dialect/Stretto/IR/Bundle.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"

#include "stretto/Dialect/Stretto/IR/StrettoInterfaces.h.inc"

namespace stretto {

/// Checks that the encodings of `op`'s operands and results (all or none must
/// be set) are what its sharding rule allows. Diagnoses at the op.
mlir::LogicalResult verifyDistribution(mlir::Operation *op);

/// Trait of tensor operations: verifyDistribution.
template <typename ConcreteType>
class Distributed : public mlir::OpTrait::TraitBase<ConcreteType, Distributed> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyDistribution(op);
  }
};

/// Diagnoses floats among the operands that differ, and float results that are
/// narrower than they are.
mlir::LogicalResult verifyWideSums(mlir::Operation *op);

/// Trait of operations whose results are sums, which may be kept in a wider
/// type than the operands have.
template <typename ConcreteType>
class WideSums : public mlir::OpTrait::TraitBase<ConcreteType, WideSums> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyWideSums(op);
  }
};

class InvokeOp;
/// The operands of an invocation, with the members that it picks.
mlir::ParseResult parseMembers(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands,
    mlir::ArrayAttr &members);
void printMembers(mlir::OpAsmPrinter &printer, InvokeOp invoke,
                  mlir::OperandRange operands, mlir::ArrayAttr members);

} // namespace stretto

#define GET_OP_CLASSES
#include "stretto/Dialect/Stretto/IR/StrettoOps.h.inc"

#endif // STRETTO_DIALECT_STRETTO_IR_STRETTOOPS_H
