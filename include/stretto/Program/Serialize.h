//===- Serialize.h - the Program as bytes -----------------------*- C++ -*-===//
//
// From the dialect `program` to the Program file (runtime/schema/Program.fbs)
// and back. Mesh, recipe, model FLOPs and required CPU features are attributes
// of the module.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_PROGRAM_SERIALIZE_H
#define STRETTO_PROGRAM_SERIALIZE_H

#include "mlir/IR/OwningOpRef.h"
#include "stretto/Dialect/Program/IR/ProgramDialect.h"
#include <string>

namespace stretto {

/// Attributes of the module, beside `stretto.mesh` and `stretto.recipe`.
namespace attr {
constexpr llvm::StringLiteral modelName = "stretto.model_name";
constexpr llvm::StringLiteral vocabulary = "stretto.vocabulary";
constexpr llvm::StringLiteral modelFlops = "stretto.model_flops";
constexpr llvm::StringLiteral modelFlopsCausal = "stretto.model_flops_causal";
constexpr llvm::StringLiteral cpuFeatures = "stretto.cpu_features";
} // namespace attr

/// The bytes of the Program. Kernels are numbered in the order of the module's
/// `stretto.kernel` symbols, groups in the order in which commands name them.
/// Diagnoses what the file cannot say and what the static verifier finds.
mlir::FailureOr<std::string> serializeProgram(mlir::ModuleOp module);

/// The same without the static verifier.
mlir::FailureOr<std::string> packProgram(mlir::ModuleOp module);

/// Reads bytes from anywhere into a module; what does not load is diagnosed at
/// an unknown location. Kernels come back by name only.
mlir::OwningOpRef<mlir::ModuleOp> deserializeProgram(mlir::MLIRContext *context,
                                                     llvm::StringRef bytes);

/// The Program as text, for people; an empty string when it does not load
/// (diagnosed).
std::string disassembleProgram(mlir::MLIRContext *context,
                               llvm::StringRef bytes);

} // namespace stretto

#endif // STRETTO_PROGRAM_SERIALIZE_H
