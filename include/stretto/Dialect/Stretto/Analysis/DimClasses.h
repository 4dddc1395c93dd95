//===- DimClasses.h - dimensions that move together -------------*- C++ -*-===//
//
// Over one function body: the equivalence classes of (value, dimension) pairs
// that sharding rules tie together, with the logical names that arguments and
// results give them. This is how "heads" on a weight becomes "heads" on every
// value computed with it. Every tie is kept with the operation that made it, so
// that the way from one dimension to another can be told.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_DIALECT_STRETTO_ANALYSIS_DIMCLASSES_H
#define STRETTO_DIALECT_STRETTO_ANALYSIS_DIMCLASSES_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include "llvm/ADT/DenseMap.h"

namespace stretto {

class DimClasses {
public:
  enum class Ties {
    /// Every rule ties: what names follow.
    All,
    /// What wishes follow by themselves: no operand is tied to another through
    /// a contraction, nothing through a barrier or a closed dimension of a
    /// constraint.
    PassThrough
  };

  /// Builds the classes of `function`'s entry block. Two dimensions are in one
  /// class when a rule gives them the same list of factors.
  explicit DimClasses(mlir::FunctionOpInterface function,
                      Ties ties = Ties::All);

  /// Dimension `dim` of `value` as a node: nodes are numbered in the order of
  /// arguments and operations.
  unsigned nodeOf(mlir::Value value, unsigned dim) const {
    return first.lookup(value) + dim;
  }
  bool contains(mlir::Value value) const { return first.contains(value); }
  std::pair<mlir::Value, unsigned> dimOf(unsigned node) const {
    return dims[node];
  }

  /// Representative (the first node) of the class.
  unsigned classOf(mlir::Value value, unsigned dim) const {
    return find(nodeOf(value, dim));
  }
  unsigned classOf(unsigned node) const { return find(node); }

  /// Logical name of the class ("batch"), empty when it has none. The first
  /// name met wins (arguments in order, then results).
  llvm::StringRef nameOf(unsigned cls) const { return names.lookup(cls); }
  llvm::StringRef nameOf(mlir::Value value, unsigned dim) const {
    return nameOf(classOf(value, dim));
  }

  /// The operations on a shortest way of ties from a node to one of `targets`
  /// (the first of the nearest), with the node that each leads to. Empty when
  /// the node is a target itself or there is no way.
  struct Step {
    mlir::Operation *op;
    unsigned node;
  };
  llvm::SmallVector<Step> wayTo(unsigned from,
                                llvm::ArrayRef<unsigned> targets) const;

private:
  struct Tie {
    unsigned a, b;
    mlir::Operation *op;
  };

  unsigned find(unsigned node) const;
  void unite(unsigned a, unsigned b, mlir::Operation *op);
  void addNode(mlir::Value value);
  void tie(mlir::Operation *op, Ties ties);
  void nameClasses(mlir::FunctionOpInterface function);

  llvm::DenseMap<mlir::Value, unsigned> first; // node of dimension 0
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> dims;
  mutable llvm::SmallVector<unsigned> parent;
  llvm::SmallVector<Tie> made;
  llvm::DenseMap<unsigned, llvm::StringRef> names;
};

} // namespace stretto

#endif // STRETTO_DIALECT_STRETTO_ANALYSIS_DIMCLASSES_H
