//===- ProgramDialect.h - the program dialect -------------------*- C++ -*-===//
//
// The words of the executable: the readable form of the Program file. The C++
// namespace is exec because stretto::program is the file's generated code.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_PROGRAM_IR_PROGRAMDIALECT_H
#define STRETTO_DIALECT_PROGRAM_IR_PROGRAMDIALECT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "stretto/Dialect/Stretto/IR/StrettoDialect.h"

#include "stretto/Dialect/Program/IR/ProgramDialect.h.inc"

#include "stretto/Dialect/Program/IR/ProgramEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "stretto/Dialect/Program/IR/ProgramAttrs.h.inc"

#define GET_OP_CLASSES
#include "stretto/Dialect/Program/IR/ProgramOps.h.inc"

namespace stretto::attr {

/// On program.launch: the element types of its operands, unless all are f32.
constexpr llvm::StringLiteral operandTypes = "types";

} // namespace stretto::attr

namespace stretto::exec {

/// Every buffer starts at a multiple of this (as kernels expect).
constexpr uint64_t bufferAlignment = 64;
constexpr uint64_t alignUp(uint64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/// Bytes of one element in memory: bits rounded up to whole bytes.
uint64_t elementBytes(mlir::Type type);
/// Bytes of a static tensor.
uint64_t tensorBytes(mlir::Type type);

/// The regions that share one range of the arena (runtime::isTransient).
constexpr bool isTransient(Region region) {
  return region == Region::Gradients || region == Region::Activations ||
         region == Region::Scratch || region == Region::Working;
}

/// The operands of a command; empty for record and wait.
llvm::ArrayRef<mlir::Attribute> operandsOf(mlir::Operation *command);

constexpr bool reads(Access access) { return unsigned(access) & 1; }
constexpr bool writes(Access access) { return unsigned(access) & 2; }
constexpr Access both(Access lhs, Access rhs) {
  return Access(unsigned(lhs) | unsigned(rhs));
}

} // namespace stretto::exec

#endif // STRETTO_DIALECT_PROGRAM_IR_PROGRAMDIALECT_H
