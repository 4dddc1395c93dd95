//===- DataFlow.h - what a Program computes, as expressions -----*- C++ -*-===//
//
// Two Programs that keep their values in different places still compute the
// same. Here every value is an expression: an input, a parameter, or a command
// applied to expressions, named by a hash of it. Walking a Program's commands
// over a memory that holds expressions gives the expressions of its results;
// where a value lies, what was copied and which independent command ran first
// leave no trace. The same expressions follow from the tensors that the Program
// was made from: comparing the two proves placement, aliasing, copies and order
// right (translation validation: Pnueli, Siegel, Singerman, TACAS 1998), up to
// collisions of 64 bits.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_PROGRAM_IR_DATAFLOW_H
#define STRETTO_DIALECT_PROGRAM_IR_DATAFLOW_H

#include "mlir/IR/BuiltinOps.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include <map>
#include <string>

namespace stretto::exec {

/// The name of an expression.
using Meaning = uint64_t;

/// What the host wrote: "input", "param", "moment1", …; `part`: micro-batch.
Meaning meaningOfSource(llvm::StringRef kind, llvm::StringRef name,
                        int64_t part = 0);
Meaning meaningOfZeros();
/// Result `index` of a command in a call; `command` is its description.
Meaning meaningOfResult(uint64_t command, llvm::StringRef instance,
                        int64_t microbatch, llvm::ArrayRef<Meaning> inputs,
                        unsigned index);
/// All that a command is but for memory, stream, cause and location.
uint64_t describeCommand(mlir::Operation *command);

/// Results of a function: "param:NAME", "moment1:NAME", "grad:NAME" (of
/// "train") and "output:NAME".
using DataFlow = std::map<std::string, Meaning>;

DataFlow dataFlowOf(FunctionOp function);
/// One number for all of it.
uint64_t digestOf(const DataFlow &flow);

/// Attribute of a function that was found to compute what it was made from: the
/// digest of that.
constexpr llvm::StringLiteral dataFlowAttr = "program.data_flow";

} // namespace stretto::exec

#endif // STRETTO_DIALECT_PROGRAM_IR_DATAFLOW_H
