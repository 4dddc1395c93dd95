//===- Graph.h - a graph to be sharded --------------------------*- C++ -*-===//
//
// What the sharding fuzzer generates, runs, shrinks and prints: a module with
// a mesh and one segment `@graph` whose arguments and results carry
// constraints. Helpers to take such a module apart and to build changed copies.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_FUZZ_GRAPH_H
#define STRETTO_FUZZ_GRAPH_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"

namespace stretto::fuzz {

inline constexpr llvm::StringLiteral graphName = "graph";
/// On an integer argument: its values are drawn from [0, bound).
inline constexpr llvm::StringLiteral boundAttr = "fuzz.bound";
/// On the module: the graph runs as two segments, parted before the operation
/// of this index.
inline constexpr llvm::StringLiteral splitAttr = "fuzz.split";

/// An empty graph: no arguments, no operations, no results.
mlir::OwningOpRef<mlir::ModuleOp> makeGraph(mlir::MLIRContext &context,
                                            MeshAttr mesh);

/// The segment of a graph; null (with a diagnostic) when there is none or the
/// module has no mesh.
SegmentOp getGraph(mlir::ModuleOp module);

/// Appends an argument with a constraint and, for integers, a bound.
mlir::Value addArgument(SegmentOp graph, mlir::RankedTensorType type,
                        ConstraintAttr constraint, int64_t bound = 0);

struct Result {
  mlir::Value value;
  ConstraintAttr constraint;
  bool zeroPadding; ///< has the role of a cotangent: padding must be zero
};
llvm::SmallVector<Result> getResults(SegmentOp graph);
void setResults(SegmentOp graph, llvm::ArrayRef<Result> results);

/// Creates a registered operation at the builder's insertion point. Without
/// `types` they are inferred. Null, and nothing created, when it does not
/// verify; no diagnostic is shown.
mlir::Operation *tryCreate(mlir::OpBuilder &builder, llvm::StringRef name,
                           mlir::ValueRange operands,
                           llvm::ArrayRef<mlir::NamedAttribute> attributes,
                           unsigned numResults = 1,
                           llvm::ArrayRef<mlir::Type> types = {});

/// Erases operations and arguments that nobody reads.
void removeDeadCode(SegmentOp graph);

/// "[{dp}, {tp}]" as a constraint.
ConstraintAttr parseConstraint(mlir::MLIRContext &context,
                               llvm::StringRef dims);

} // namespace stretto::fuzz

#endif // STRETTO_FUZZ_GRAPH_H
