//===- ProgramAssembly.h - bare forms of memory words -----------*- C++ -*-===//
//
// Slots, operands and arguments as operations print them, without the dialect's
// attribute syntax around.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_PROGRAM_IR_PROGRAMASSEMBLY_H
#define STRETTO_DIALECT_PROGRAM_IR_PROGRAMASSEMBLY_H

#include "mlir/IR/OpImplementation.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"

namespace stretto::exec {

mlir::FailureOr<SlotAttr> parseBareSlot(mlir::AsmParser &parser);
mlir::FailureOr<OperandAttr> parseBareOperand(mlir::AsmParser &parser);
mlir::FailureOr<ArgumentAttr> parseBareArgument(mlir::AsmParser &parser);
void printBare(mlir::AsmPrinter &printer, SlotAttr slot);
void printBare(mlir::AsmPrinter &printer, OperandAttr operand);
void printBare(mlir::AsmPrinter &printer, ArgumentAttr argument);

} // namespace stretto::exec

#endif // STRETTO_DIALECT_PROGRAM_IR_PROGRAMASSEMBLY_H
