//===- DimClasses.h - dimensions that move together -------------*- C++ -*-===//
//
// Over one function body: the equivalence classes of (value, dimension) pairs
// that sharding rules tie together, with the logical names and constraints that
// arguments and results give them. This is how "heads" on a weight becomes
// "heads" on every value computed with it.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_ANALYSIS_DIMCLASSES_H
#define STRETTO_DIALECT_STRETTO_ANALYSIS_DIMCLASSES_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/DenseMap.h"

namespace stretto {

class DimClasses {
public:
  /// Builds the classes of `function`'s entry block. Two dimensions are in one
  /// class when a rule gives them the same list of factors.
  explicit DimClasses(mlir::FunctionOpInterface function);

  /// Representative of dimension `dim` of `value`.
  unsigned classOf(mlir::Value value, unsigned dim) const;

  /// Logical name of the class ("batch"), empty when it has none. The first
  /// name met wins (arguments in order, then results).
  llvm::StringRef nameOf(unsigned cls) const;
  llvm::StringRef nameOf(mlir::Value value, unsigned dim) const {
    return nameOf(classOf(value, dim));
  }

private:
  unsigned find(unsigned node) const;
  void unite(unsigned a, unsigned b);
  void addNode(mlir::Value value);

  llvm::DenseMap<mlir::Value, unsigned> first; // node of dimension 0
  mutable llvm::SmallVector<unsigned> parent;
  llvm::DenseMap<unsigned, llvm::StringRef> names;
};

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_ANALYSIS_DIMCLASSES_H
