//===- KernelGraph.h - a kernel as scalar math over loops -------*- C++ -*-===//
//
// What a group of local tensor operations is when it is fused: scalar nodes
// over one iteration space. Every dimension of every tensor in the group is
// identified with a loop dimension; broadcasts and transposes vanish into the
// strides of loads and stores. Fusion asks this file whether a group can be one
// kernel, code generation makes loops of it: both see the same thing.
//
//===----------------------------------------------------------------------===//
#ifndef STRETTO_TRANSFORMS_FUSE_KERNELGRAPH_H
#define STRETTO_TRANSFORMS_FUSE_KERNELGRAPH_H

#include "stretto/Dialect/Stretto/IR/StrettoOps.h"
#include <memory>

namespace stretto {

namespace attr {
/// On operations in a kernel: which launch scalars they read, by position (-1 =
/// zero). See `kernel` in Kernel.td.
constexpr llvm::StringLiteral scalars = "stretto.scalars";
} // namespace attr

} // namespace stretto

namespace stretto::kernel {

/// A set of loop dimensions.
using DimMask = uint64_t;

enum class Element : uint8_t { F32, F64, BF16, F16, I1, I8, I32, I64 };

/// The type that elements of a buffer are computed in. Nodes have no other:
/// bf16 is widened when it is read and rounded once, when it is written.
constexpr Element valueElement(Element buffer) {
  return buffer == Element::BF16 ? Element::F32 : buffer;
}

/// constant + sum of coefficient * loop index + sum of multiplier * launch
/// scalar.
struct Linear {
  llvm::SmallVector<int64_t, 6> coefficients;
  int64_t constant = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> scalars;

  DimMask axes() const;
  bool operator==(const Linear &other) const;
};

enum class NodeKind : uint8_t {
  Load,     // buffers[buffer][address], 0 where a guard fails
  Constant, // value
  Index,    // address as i64
  Scalar,   // launch scalar `scalar` as i64
  Compute,  // code(operands)
  Reduce    // reduce kind of operands[0] over `reduced`
};

enum class Code : uint8_t {
  Neg,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Tanh,
  Sigmoid,
  Erf,
  Add,
  Sub,
  Mul,
  Div,
  Maximum,
  Minimum,
  Compare,
  Select,
  Convert,
  Key,  // random key of scalars (seed, step, instance)
  Keep, // dropout decision of (key, element): `threshold`, `opId`
  Cos,
  Sin,      // of an f64 angle, result f32
  Frequency // f64 table base^(-2 i / (2 n)) at index operand i of n
};

/// index < limit, or the load gives zero.
struct Guard {
  Linear index;
  int64_t limit;
};

struct Node {
  NodeKind kind;
  Code code = Code::Add;
  Element type = Element::F32;
  bool exact = false; // no reassociation
  DimMask axes = 0;   // loop dimensions along which the value varies
  llvm::SmallVector<Node *, 3> operands;
  // Load: the row operand of a gather is operands[0] (0 <= row < rows, else 0).
  unsigned buffer = 0;
  Linear address;
  llvm::SmallVector<Guard, 1> guards;
  int64_t rows = 0, rowStride = 0;
  // Constant, Scalar, Compare, Reduce, Keep, Frequency.
  double value = 0;
  unsigned scalar = 0;
  ComparePredicate predicate = ComparePredicate::EQ;
  ReduceKind reduce = ReduceKind::Sum;
  DimMask reduced = 0;
  int64_t threshold = 0, opId = 0;
  int64_t count = 0;

  explicit Node(NodeKind kind) : kind(kind) {}
  bool isGather() const { return kind == NodeKind::Load && !operands.empty(); }
};

enum class RootKind : uint8_t {
  Store,      // buffer[address] = value
  Accumulate, // buffer[address] = reduce(buffer[address], value)
  Scatter     // buffer[row * rowStride + address] += value, rows out of range
              // are dropped
};

/// An effect of the kernel.
struct Root {
  RootKind kind;
  Node *value;
  unsigned buffer;
  Linear address;
  // Accumulate, Scatter: how the buffer starts.
  bool inPlace = false; // holds the initial value already
  int initFrom = -1;    // else copied from this buffer, else the identity
  ReduceKind reduce = ReduceKind::Sum;
  DimMask reduced = 0; // dimensions that are summed away
  Node *row = nullptr; // Scatter
  int64_t rows = 0, rowStride = 0;
};

struct Buffer {
  int64_t elements;
  Element type;
  bool written = false;
  bool read = false;
};

/// A value that leaves a group; alias = index of the input whose storage it
/// takes, or -1.
struct Output {
  mlir::Value value;
  int alias = -1;
};

class KernelGraph {
public:
  /// Builds the graph of `ops` (in order, primitive, bare static types).
  /// Buffers are `inputs`, then those outputs that are no aliases. Fails, with
  /// `why` when it is given, when the operations do not share an iteration
  /// space.
  static mlir::FailureOr<KernelGraph>
  build(llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
        llvm::ArrayRef<Output> outputs, std::string *why = nullptr);
  static mlir::FailureOr<KernelGraph> build(KernelOp kernel,
                                            std::string *why = nullptr);

  llvm::SmallVector<int64_t> extents; // per loop dimension, outermost first
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Root> roots;
  std::vector<std::unique_ptr<Node>> nodes; // operands first

  Node *add(Node node);
  DimMask allDims() const { return (DimMask(1) << extents.size()) - 1; }
  int64_t extentOf(DimMask mask) const;
  /// The dimension along which a transposed load is contiguous, or nothing: a
  /// nest walks it and the last dimension in tiles.
  DimMask crossedDim() const;

  /// Makes dimension `dim` two: extent / inner and inner.
  void splitDim(unsigned dim, int64_t inner);
  /// Drops nodes that no root needs.
  void sweep();
  /// Drops dimensions of extent 1 or without use and merges neighbours that
  /// every access and every reduction treats as one.
  void simplify();

private:
  template <typename Fn> void forEachLinear(Fn fn);
  template <typename Fn> void forEachMask(Fn fn);
  bool canMerge(unsigned dim);
  void mergeDim(unsigned dim);
  void removeDim(unsigned dim);
  void dropEmptyReductions();
  friend class GraphBuilder;
};

/// Which loops of a kernel are outer (rows) and which are inner.
struct Space {
  DimMask rows = 0, inner = 0;
};

/// Chooses the row space and turns reductions over rows into accumulations;
/// fails when an in-kernel consumer needs a reduction over rows, or when a
/// stored value is not one per row.
mlir::FailureOr<Space> chooseSpace(KernelGraph &graph,
                                   std::string *why = nullptr);

} // namespace stretto::kernel

#endif // STRETTO_TRANSFORMS_FUSE_KERNELGRAPH_H
