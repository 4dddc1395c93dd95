//===- Generator.h - a graph in the making ----------------------*- C++ -*-===//
//
// Values so far with what is known of them, and how an operation picks its
// operands: an existing value that fits, or a new argument of the graph.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_LIB_FUZZ_GENERATOR_H
#define STRETTO_LIB_FUZZ_GENERATOR_H

#include "mlir/IR/Builders.h"
#include "stretto/Fuzz/Graph.h"

#include <random>

namespace stretto::fuzz {

using Shape = llvm::SmallVector<int64_t>;

/// What decides which operations may read a value without making the
/// comparison meaningless.
struct Known {
  /// Whole and half numbers computed without rounding: comparisons of them
  /// cannot flip.
  bool exact = false;
  double magnitude = 3; ///< no element is larger
};

class Generator {
public:
  Generator(mlir::ModuleOp module, uint64_t seed);

  /// `count` operations, then the results.
  void run();

  // Draws.
  /// 0 where nothing is below: dimensions may be empty.
  int64_t below(int64_t bound) {
    return bound > 0 ? int64_t(random() % uint64_t(bound)) : 0;
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename Range> auto &oneOf(Range &&range) {
    return range[below(std::size(range))];
  }
  int64_t extent() { return oneOf(extents); }
  /// Of 1 to `maxRank` dimensions, or exactly `rank`, not too large.
  Shape shape(unsigned maxRank = 4);

  // Operands.
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type i1() { return builder.getI1Type(); }
  mlir::Value newArgument(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                          int64_t bound = 0);
  /// A value of this type: mostly one that exists, if there is one.
  mlir::Value ofType(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                     int64_t bound = 0);
  /// An f32 value of rank minRank to maxRank.
  mlir::Value real(unsigned minRank = 0, unsigned maxRank = 4);
  /// The same, exact.
  mlir::Value exactReal(unsigned minRank = 0, unsigned maxRank = 4);

  /// A random constraint for a value of `shape`; `withClauses`: also axes that
  /// must not shard it and axes over which it may stay partial.
  ConstraintAttr constraint(llvm::ArrayRef<int64_t> shape,
                            bool withClauses = false);

  // Results.
  const Known &known(mlir::Value value) { return facts[value]; }
  /// Creates an operation whose results are known to be `known`; nothing when
  /// it does not verify or a result would be too large.
  mlir::Operation *add(llvm::StringRef name, mlir::ValueRange operands,
                       Known known,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                       unsigned numResults = 1,
                       llvm::ArrayRef<mlir::Type> types = {});
  /// tanh of a value that is not small: what bounds the magnitudes.
  mlir::Value bounded(mlir::Value value);
  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return builder.getNamedAttr(name, value);
  }

  mlir::OpBuilder builder;

private:
  mlir::Value pick(llvm::function_ref<bool(mlir::Value)> fits);
  void chooseResults();

  SegmentOp graph;
  MeshAttr mesh;
  std::mt19937_64 random;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::Value> values;
  llvm::DenseMap<mlir::Value, Known> facts;
};

/// One way to add an operation (or a few); it may find nothing to do.
using OpMaker = void (*)(Generator &);
/// All of them; one that is there twice is drawn twice as often.
llvm::ArrayRef<OpMaker> operationKinds();

} // namespace stretto::fuzz

#endif // STRETTO_LIB_FUZZ_GENERATOR_H
